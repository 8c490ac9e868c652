"""The checks of every page, at every size, in light and dark."""
import os

from browser import BUILD, SCHEMES, SIZES

AXE = f"{BUILD}/python-axe/axe_playwright_python/axe.min.js"
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]

# The rules of WCAG 2.2 AA that axe does not check, or checks only in certain cases.
LAYOUT = """
    const faults = [];
    const root = document.documentElement;
    if (root.scrollWidth > root.clientWidth) {
        const wide = [...document.querySelectorAll('body *')].filter(one => one.getBoundingClientRect().right > root.clientWidth + 1
            && !one.closest('.wide')).map(one => one.outerHTML.slice(0, 120));
        faults.push(`the page scrolls sideways: ${root.scrollWidth} > ${root.clientWidth}: ${wide.slice(0, 3).join(' ')}`);
    }
    const shown = one => one.checkVisibility({visibilityProperty: true}) && one.getBoundingClientRect().width > 0;
    for (const one of document.querySelectorAll('button, select, summary, input:not([type=hidden]), textarea, nav a')) {
        if (!shown(one)) continue;
        const label = one.labels?.length && ['checkbox', 'radio'].includes(one.type) ? one.labels[0] : one;
        const box = label.getBoundingClientRect();
        if (box.width < 24 || box.height < 24)
            faults.push(`smaller than 24 px (${box.width.toFixed()}×${box.height.toFixed()}): ${one.outerHTML.slice(0, 120)}`);
    }
    for (const table of document.querySelectorAll('table'))
        if (!table.caption && !table.ariaLabel && !table.getAttribute('aria-labelledby')) faults.push('a table without a caption');
    for (const picture of document.querySelectorAll('svg:not([aria-hidden=true])'))
        if (!picture.parentElement.closest('svg, [role=img], [aria-hidden=true]') && !picture.querySelector('title') && !picture.ariaLabel && !picture.getAttribute('aria-labelledby'))
            faults.push(`a picture without a title: ${picture.outerHTML.slice(0, 120)}`);
    if (document.querySelectorAll('h1').length !== 1) faults.push(`${document.querySelectorAll('h1').length} h1`);
    if (!document.title.includes('–')) faults.push(`the title ${document.title}`);
    if (document.querySelector('script:not([src]), style, [style], [onclick]')) faults.push('script or style within the page');
    const ids = [...document.querySelectorAll('[id]')].map(one => one.id);
    const twice = ids.filter((id, place) => ids.indexOf(id) !== place);
    if (twice.length) faults.push(`two elements with the id ${twice[0]}`);
    return faults;
"""

# Each Tab must lead on, in the order of the page, to an element that shows the focus; this returns all of them.
FOCUS = """
    window.stops = [];
    document.addEventListener('focusin', event => {
        const one = event.target, style = getComputedStyle(one), box = one.getBoundingClientRect();
        // Of a date the part that has the focus is marked, in the browser's own way.
        const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2 || /^(date|time)/.test(one.type);
        window.stops.push({ring: ring, name: one.outerHTML.slice(0, 120), place: [...document.querySelectorAll('*')].indexOf(one),
            outside: box.bottom < 0 || box.right < 0 || box.top > innerHeight || box.left > innerWidth});
    });
    document.activeElement.blur();
"""


def axe_faults(browser, contrast=True):
    if not browser.value("return typeof axe === 'object'"):
        with open(AXE, encoding="utf-8") as file:
            browser.command("Runtime.evaluate", expression=file.read())
    found = browser.value("""
        const options = {runOnly: arguments[0], rules: {'color-contrast': {enabled: arguments[1]}}, resultTypes: ['violations'], elementRef: false};
        return axe.run(document, options).then(result => result.violations.map(one => `${one.id}: ${one.help}: ` + one.nodes.slice(0, 3).map(node =>
            node.html.slice(0, 160) + ' ' + (node.any[0] ?? node.all[0] ?? node.none[0])?.message).join(' | ')));""", RULES, contrast)
    return [f"axe: {fault}" for fault in found]


def faults(browser, brief=False):
    """Returns the faults of the browser's page; `brief` if another page of its kind was examined in full."""
    found = {}
    for scheme in SCHEMES:
        for size in SIZES:
            browser.show(size, scheme)
            # The contrast of colours does not depend on the size, and its check takes four times as long as all other rules together.
            contrast = not brief and (scheme, size) in [(SCHEMES[0], SIZES[0]), (SCHEMES[1], SIZES[1])]
            for fault in browser.value(LAYOUT) + ([] if brief and size != SIZES[0] else axe_faults(browser, contrast)):
                found.setdefault(fault, []).append(f"{size[0]}×{size[1]} {scheme}")
    return [f"{fault} ({', '.join(where) if len(where) < 6 else 'always'})" for fault, where in found.items()]


def focus_faults(browser, keys, most=40):
    browser.show(SIZES[1], SCHEMES[0])
    browser.value(FOCUS)
    browser.press(*[keys.TAB] * most)
    found, places = [], []
    for stop in browser.value("return window.stops"):
        # A date has several stops; after the last element of the page comes the first again.
        if places and stop["place"] == places[-1]:
            continue
        if stop["place"] in places:
            break
        if places and stop["place"] < places[-1]:
            found.append(f"Tab leads back, not on: {stop['name']}")
        places.append(stop["place"])
        if not stop["ring"]:
            found.append(f"the focus does not show: {stop['name']}")
        if stop["outside"]:
            found.append(f"the element with the focus is not in view: {stop['name']}")
    return found if places else ["nothing on the page takes the focus"]

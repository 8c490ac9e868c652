"""A headless Chromium that its driver controls like a person, and that records everything that goes wrong."""
import json, os, shutil, sys, tempfile
from urllib.parse import urlsplit

sys.dont_write_bytecode = True  # leaves no files beside the tests
BUILD = os.path.realpath(os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../../../.build"))
sys.path.insert(0, f"{BUILD}/python-web")
from selenium import webdriver
from selenium.webdriver.chrome.options import Options
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

SIZES = [(360, 740), (1280, 800), (3840, 2160)]
SCHEMES = ["light", "dark"]


class Browser:
    def __init__(self, origin, scripts=True):
        self.origin, self.scripts = origin, scripts
        self.profile = tempfile.mkdtemp(prefix="hub-chromium-", dir="/tmp")
        options = Options()
        for word in [
            "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
            "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
            "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
            f"--user-data-dir={self.profile}", "--window-size=1280,800",
        ]:
            options.add_argument(word)
        options.binary_location = shutil.which("chromium")
        options.page_load_strategy = "normal"
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        # A dialogue is a fault, and stays open until it is found.
        options.unhandled_prompt_behavior = "ignore"
        environment = {**os.environ, "HOME": self.profile, "XDG_CONFIG_HOME": self.profile, "XDG_CACHE_HOME": self.profile}
        self.driver = webdriver.Chrome(options, Service(shutil.which("chromedriver"), env=environment))
        self.driver.set_page_load_timeout(20)
        self.faults = []
        # Requests that Chromium makes for itself at its start.
        self.open("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        if scripts:
            # The page itself reports what its policy has blocked.
            self.command("Page.addScriptToEvaluateOnNewDocument", source="""
                window.refused = [];
                document.addEventListener('securitypolicyviolation', event =>
                    window.refused.push(`${event.effectiveDirective} kept ${event.blockedURI || 'inline'} away`));""")
        else:
            self.command("Emulation.setScriptExecutionDisabled", value=True)

    def command(self, method, /, **parameters):
        return self.driver.execute_cdp_cmd(method, parameters)

    def end(self):
        self.driver.quit()
        shutil.rmtree(self.profile, ignore_errors=True)

    def open(self, path):
        self.driver.get(self.origin + path if path.startswith("/") else path)

    def log_in(self, link):
        self.open(link)
        self.driver.find_element("css selector", "main button").click()
        # Until the answer comes, the old page is still there, and complete.
        self.wait("return !location.pathname.startsWith('/login') && document.readyState === 'complete'")

    def settle(self):
        """Waits until the former page is gone and the next one is complete."""
        self.wait("return document.readyState === 'complete'")

    def wait(self, script, *arguments, patience=60):
        from selenium.common.exceptions import JavascriptException, StaleElementReferenceException, WebDriverException
        from time import monotonic, sleep
        end = monotonic() + patience
        while True:
            try:
                answer = self.value(script, *arguments)
                if answer:
                    return answer
            except (JavascriptException, StaleElementReferenceException):
                pass
            if monotonic() > end:
                raise SystemExit(f"{self.path}: never came true: {script}\n{self.text()[:2000]}")
            sleep(0.02)

    def value(self, script, *arguments):
        return self.driver.execute_script(script, *arguments)

    @property
    def path(self):
        parts = urlsplit(self.driver.current_url)
        return parts.path + (f"?{parts.query}" if parts.query else "")

    def text(self):
        return self.value("return document.body.innerText")

    def show(self, size, scheme):
        """Shows the present page at a size, and in light or dark."""
        self.command("Emulation.setDeviceMetricsOverride", width=size[0], height=size[1],
                     deviceScaleFactor=1, mobile=False)
        self.command("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme},
                                                             {"name": "prefers-reduced-motion", "value": "reduce"}])

    def complaints(self, wrong_status_is_meant=False):
        """Returns the faults since the last call: lines of the console, refusals of the policy, requests to other places."""
        found = []
        for entry in self.driver.get_log("browser"):
            if wrong_status_is_meant and "the server responded with a status of" in entry["message"]:
                continue
            if entry["level"] in ("SEVERE", "WARNING"):
                found.append(f"console: {entry['message']}")
        for entry in self.driver.get_log("performance"):
            message = json.loads(entry["message"])["message"]
            if message["method"] == "Network.requestWillBeSent":
                address = message["params"]["request"]["url"]
                if not address.startswith((self.origin + "/", "data:")):
                    found.append(f"a request to another place: {address[:200]}")
            elif message["method"] == "Page.javascriptDialogOpening":
                found.append(f"a dialogue: {message['params']['message'][:200]}")
        if self.scripts:
            found += self.value("return (window.refused ?? []).splice(0)")
        return found

    def press(self, *keys):
        chain = ActionChains(self.driver, duration=0)
        for key in keys:
            chain.send_keys(key)
        chain.perform()

import HTTPTypes
import Hummingbird
import NIOCore
import PluginKit

/// The frame of each page: title, navigation, and the logged-in person.
struct PageFrame: Sendable {
    private struct Place {
        let name, path: String
        let isOwners: Bool
    }

    private static let places = [
        Place(name: "Today", path: "/", isOwners: false), Place(name: "All data", path: "/data", isOwners: false),
        Place(name: "Add", path: "/add", isOwners: false), Place(name: "Inbox", path: "/inbox", isOwners: true),
        Place(name: "Devices", path: "/devices", isOwners: true),
        Place(name: "Deliveries", path: "/deliveries", isOwners: true),
        Place(name: "Plugins", path: "/plugins", isOwners: true),
        Place(name: "System", path: "/system", isOwners: true),
        Place(name: "Preferences", path: "/preferences", isOwners: false),
    ]

    let title: String
    /// Nil without a log-in.
    var choice: SelectedPerson?
    /// The address of this page, without the person.
    var path = ""
    /// Scripts that improve the page; it is readable without them.
    var scripts: [Asset] = []
    /// The base path of a page without a log-in; other pages have it from ``choice``.
    var base = BasePath.none

    /// - Parameter content: the content below the title.
    func page(_ content: HTML, _ status: HTTPResponse.Status = .ok) -> Response {
        let body: HTML = """
            <a class="skip" href="#content">To the content</a>
            \(choice.map(header))
            <main id="content"><h1>\(title)</h1>
            \(choice.map { _ in Self.withoutScripts })\(choice?.notice.map { "<div class=\"notice\" role=\"status\">\($0)</div>" } ?? HTML())
            \(content)
            </main>
            """
        let document = HTMLDocument(
            title: "\(title) – health hub", styles: [Asset.style.path, Asset.chartStyle.path],
            scripts: (scripts + [Asset.forms]).map(\.path), icon: Asset.icon.path, body: body)
        return Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: document.html.bytes(below: choice?.base ?? base))))
    }

    /// The page that names the command for a right that is not granted; nil if it is granted.
    func denial(_ right: OwnerRight, _ grants: OwnerGrants, to what: HTML) -> Response? {
        grants.have(right) ? nil : page("<p>\(grants.advice(right, to: what))</p>")
    }

    private static let withoutScripts: HTML = """
        <noscript><p class="notice">Without JavaScript these pages show everything and change nothing: switch it on, and log \
        in again with <code>hub web</code>.</p></noscript>
        """

    private func header(_ choice: SelectedPerson) -> HTML {
        let shown = Self.places.filter { choice.viewer.isOwner || !$0.isOwners }
        let links = HTML.each(shown) { place in
            "<li><a href=\"\(url: place.path + query(choice.person?.name))\" \("aria-current=\"page\"", if: place.path == path)>\(place.name)</a></li>"
        }
        let persons = choice.persons.count < 2 ? HTML() : self.persons(choice)
        return """
            <header><nav aria-label="Pages"><ul>\(links)</ul></nav>\(persons)\
            <form method="post" action="\(url: "/logout")">\
            <button>Log out</button></form></header>
            """
    }

    private func persons(_ choice: SelectedPerson) -> HTML {
        let links = HTML.each(choice.persons) { person in
            "<li><a href=\"\(url: (path.isEmpty ? "/" : path) + query(person.name))\" \("aria-current=\"true\"", if: person.name == choice.person?.name)>\(person.shownName)</a></li>"
        }
        return "<nav aria-label=\"Persons\"><ul>\(links)</ul></nav>"
    }

    private func query(_ person: String?) -> String {
        person.map { "?" + FormText.write([(name: "person", value: $0)]) } ?? ""
    }
}

extension HTML {
    /// A table with a heading for each column, and a row for each element; the first cell of a row is its heading.
    static func table<Element>(
        _ caption: String, _ columns: [String], _ elements: some Sequence<Element>, row: (Element) -> [HTML]
    ) -> HTML {
        let head = each(columns) { "<th scope=\"col\">\($0)</th>" }
        let body = each(elements) { element in
            let cells = row(element)
            let others = each(cells.dropFirst()) { "<td>\($0)</td>" }
            return "<tr><th scope=\"row\">\(cells.first)</th>\(others)</tr>\n"
        }
        return """
            <div class="wide" role="region" aria-label="\(caption)" tabindex="0"><table><caption>\(caption)</caption>
            <thead><tr>\(head)</tr></thead><tbody>
            \(body)</tbody></table></div>
            """
    }
}

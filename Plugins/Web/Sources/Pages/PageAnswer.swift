import Digests
import HTMLText
import HTTPTypes
import Hummingbird
import NIOCore

/// A page as it goes to the browser.
enum PageAnswer {
    /// What holds for every answer: nothing of other places, no script or style in the text of a page, in no frame, known to no other place.
    static let guards: [HTTPField] = [
        HTTPField(
            name: .contentSecurityPolicy,
            value: "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
                + "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"),
        HTTPField(name: .xContentTypeOptions, value: "nosniff"),
        // With no-referrer browsers send a form with "Origin: null", as from another place.
        field("Referrer-Policy", "same-origin"), field("Cross-Origin-Opener-Policy", "same-origin"),
        field("Cross-Origin-Resource-Policy", "same-origin"),
        field("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
        HTTPField(name: .cacheControl, value: "no-store"),
    ]

    private static func field(_ name: String, _ value: String) -> HTTPField {
        HTTPField(name: HTTPField.Name(name)!, value: value)
    }

    /// To the page that is seen after a form: a reload of it sends nothing again.
    static func redirect(to path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }

    static func page(_ html: HTML, _ status: HTTPResponse.Status = .ok) -> Response {
        Response(
            status: status, headers: [.contentType: "text/html; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: html.bytes)))
    }
}

/// A file that pages use; its name has a sum of what is in it, so that a browser need not ask again.
struct Asset: Sendable {
    let path: String
    private let type: String
    private let bytes: [UInt8]

    init(_ name: String, _ ending: String, type: String, _ bytes: [UInt8]) {
        path = "/assets/\(name)-\(Self.sum(bytes)).\(ending)"
        (self.type, self.bytes) = (type, bytes)
    }

    static let style = Asset("page", "css", type: "text/css; charset=utf-8", PackageResources.page_css)
    static let chartStyle = Asset("charts", "css", type: "text/css; charset=utf-8", PackageResources.charts_css)
    static let icon = Asset("icon", "svg", type: "image/svg+xml", PackageResources.icon_svg)
    /// Says what stands at each mark of a chart.
    static let charts = Asset("charts", "js", type: script, PackageResources.charts_js)
    /// Shows the value that moves while someone stands on a scale.
    static let live = Asset("live", "js", type: script, PackageResources.live_js)
    /// Shows the lines of a log as they come.
    static let logs = Asset("logs", "js", type: script, PackageResources.logs_js)
    /// Adds the browser's form token to each form that writes.
    static let forms = Asset("forms", "js", type: script, PackageResources.forms_js)
    static let all = [style, chartStyle, icon, charts, live, logs, forms]
    private static let script = "text/javascript; charset=utf-8"

    private static func sum(_ bytes: some Sequence<UInt8>) -> String {
        String(Digests.sha256(bytes).hexadecimal.prefix(16))
    }

    /// By which a browser says that it has a text already.
    static func tag(of text: String) -> String { "\"\(sum(text.utf8))\"" }

    var response: Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

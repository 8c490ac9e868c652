import HTTPTypes
import Hummingbird
import NIOCore
import Platform

/// Answers with pages.
enum PageAnswer {
    /// Headers of every answer: no content of other sites, no inline script or style, no frames of other sites, no referrer for other sites.
    ///
    /// - Parameter isFramed: whether pages of the same origin may show the answer in a frame; otherwise no page may.
    static func guards(isFramed: Bool) -> [HTTPField] { isFramed ? framed : unframed }

    private static let framed = guards(ancestors: "'self'")
    private static let unframed = guards(ancestors: "'none'")

    private static func guards(ancestors: String) -> [HTTPField] {
        [
            HTTPField(
                name: .contentSecurityPolicy,
                value: "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
                    + "form-action 'self'; base-uri 'none'; frame-ancestors \(ancestors)"),
            HTTPField(name: .xContentTypeOptions, value: "nosniff"),
            // With no-referrer browsers send a form with "Origin: null", as from another site.
            field("Referrer-Policy", "same-origin"), field("Cross-Origin-Opener-Policy", "same-origin"),
            field("Cross-Origin-Resource-Policy", "same-origin"),
            field("Permissions-Policy", "camera=(), geolocation=(), microphone=()"),
            HTTPField(name: .cacheControl, value: "no-store"),
        ]
    }

    private static func field(_ name: String, _ value: String) -> HTTPField {
        HTTPField(name: HTTPField.Name(name)!, value: value)
    }

    /// Redirects after a form, so that a reload does not send it again.
    static func redirect(to path: String) -> Response { Response(status: .seeOther, headers: [.location: path]) }
}

/// A file for pages; its name contains a hash of the content, so that a browser need not ask again.
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
    /// Shows the figures at each mark of a chart.
    static let charts = Asset("charts", "js", type: script, PackageResources.charts_js)
    /// Shows the live value while a person stands on a scale.
    static let live = Asset("live", "js", type: script, PackageResources.live_js)
    /// Shows new lines of a log.
    static let logs = Asset("logs", "js", type: script, PackageResources.logs_js)
    /// Adds the browser's form token to each form that writes.
    static let forms = Asset("forms", "js", type: script, PackageResources.forms_js)
    static let all = [style, chartStyle, icon, charts, live, logs, forms]
    private static let script = "text/javascript; charset=utf-8"

    private static func sum(_ bytes: some Sequence<UInt8>) -> String {
        String(Digests.sha256(bytes).hexadecimal.prefix(16))
    }

    /// The entity tag of a text.
    static func tag(of text: String) -> String { "\"\(sum(text.utf8))\"" }

    var response: Response {
        Response(
            status: .ok, headers: [.contentType: type, .cacheControl: "public, max-age=31536000, immutable"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }
}

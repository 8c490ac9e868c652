import HTTPTypes
import HealthText
import Hummingbird
import NIOCore
import PluginKit

/// The last lines of an instance's log; with JavaScript the page asks for new lines every two seconds.
struct PluginLogs: Sendable {
    let hub: PluginContext

    private static let most = 200

    func response(_ name: String?, _ choice: SelectedPerson) async throws -> Response {
        guard let name, PeerName.isValid(name) else { throw noSuchPage }
        let frame = PageFrame(
            title: "Log of \(name)", choice: choice, path: PluginAddresses.of(name, "/logs"), scripts: [Asset.logs])
        if let denial = frame.denial(.logs, OwnerGrants(hub), to: "Reading logs") { return denial }
        let (text, hasMore) = try await lines(of: name)
        let note: HTML = hasMore ? "<p class=\"faint\">Older ones: <code>hub logs \(name)</code>.</p>" : HTML()
        return frame.page(
            """
            <p><a href="\(url: PluginAddresses.of(name))">\(name)</a></p>\(note)
            <p class="faint" id="log-state" role="status">Load the page again for newer lines.</p>
            <pre class="log" id="log" role="region" tabindex="0" aria-label="Log of \(name)" \
            data-lines="\(url: PluginAddresses.of(name, "/logs/lines"))">\(text)</pre>
            """)
    }

    /// The same lines as plain text, or 304 if the browser has them.
    func lines(_ name: String?, _ request: Request) async throws -> Response {
        guard let name, PeerName.isValid(name) else { throw noSuchPage }
        let text = try await lines(of: name).text
        let tag = Asset.tag(of: text)
        guard request.headers[.ifNoneMatch] != tag else { return Response(status: .notModified, headers: [.eTag: tag]) }
        return Response(
            status: .ok, headers: [.contentType: "text/plain; charset=utf-8", .eTag: tag],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func lines(of name: String) async throws -> (text: String, hasMore: Bool) {
        do {
            let page = try await hub.logs(of: name, limit: Self.most)
            let text = page.lines.map { line in
                let from = line.from == .hub ? "hub " : ""
                return "\(LocalTime.text(line.time) ?? line.time) \(line.level) \(from)\(line.text)"
            }
            return (text.isEmpty ? "It has no lines yet." : text.joined(separator: "\n"), page.more)
        } catch let error as AskError where error.error?.code == .field { throw noSuchPage }
    }
}

import Hummingbird
import NIOCore
import PluginKit
import Synchronization

/// The content of a sent form: fields by name, each once.
struct WebForm: Sendable {
    private let fields: [String: String]

    /// Reads the body.
    ///
    /// - Throws: ``RequestRefusal`` if the body is too long or not a form.
    init(_ request: Request) async throws {
        let body: ByteBuffer
        do { body = try await request.body.collect(upTo: 65_536) } catch {
            throw RequestRefusal(.contentTooLarge, "This is more than a form of this page", "Open the page again.")
        }
        do { fields = try URLEncodedFormDecoder().decode([String: String].self, from: String(buffer: body)) } catch {
            throw RequestRefusal(
                .badRequest, "This is not a form of this page", "Open the page again, and fill it in there.")
        }
    }

    /// Reads the form of a logged-in browser, and checks the form token, which only pages of this address have.
    static func read(_ request: Request, _ visit: WebRequestContext) async throws -> (WebForm, Viewer) {
        guard let viewer = visit.viewer else { throw noSuchPage }
        let form = try await WebForm(request)
        guard viewer.sends(formToken: form["token"]) else {
            throw RequestRefusal(
                .forbidden, "This browser only reads here",
                "Nothing was changed. A log-in without JavaScript, or by a former version of this page, only reads: type "
                    + "hub web on the hub's machine, and open the link with JavaScript switched on.")
        }
        return (form, viewer)
    }

    /// The text of a field; nil if the field is missing or blank.
    subscript(_ name: String) -> String? {
        fields[name].flatMap { text in text.contains { !$0.isWhitespace } ? text : nil }
    }

    /// Whether the field exists, even if it is empty.
    func has(_ name: String) -> Bool { fields[name] != nil }

    /// All fields except the token, as sent.
    var others: [(name: String, text: String)] {
        fields.filter { $0.key != "token" }.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// - Throws: ``RequestRefusal`` that names the field.
    func text(_ name: String) throws -> String {
        guard let text = self[name] else { throw Self.missing(name) }
        return text
    }

    /// A record's number.
    ///
    /// - Throws: ``RequestRefusal`` that names the field.
    func number(_ name: String) throws -> Int64 {
        guard let number = Int64(try text(name)) else { throw Self.missing(name) }
        return number
    }

    private static func missing(_ name: String) -> RequestRefusal {
        RequestRefusal(.badRequest, "The form lacks \(name)", "Open the page again, and fill it in there.")
    }
}

/// Results of forms for the next page of each session, each shown once.
final class NoticeStore: Sendable {
    private let notices = Mutex<[String: HTML]>([:])
    /// The maximum number of sessions.
    private static let most = 100

    func put(_ notice: HTML, for viewer: Viewer) {
        notices.withLock { notices in
            if notices.count >= Self.most, let first = notices.keys.first { notices[first] = nil }
            notices[viewer.session.hash] = notice
        }
    }

    func take(of viewer: Viewer) -> HTML? { notices.withLock { $0.removeValue(forKey: viewer.session.hash) } }
}

extension WebParts {
    /// Redirects to a page, which shows the result of a form.
    func told(_ notice: HTML, _ viewer: Viewer, on next: String) -> Response {
        notices.put(notice, for: viewer)
        return PageAnswer.redirect(to: next)
    }
}

import PluginKit

/// The host name of this page below `.localhost`: `hub-` and 80 random bits.
///
/// Browsers send a cookie to every port of a host. Chromium and Firefox resolve each name below `.localhost` to this
/// machine, so a cookie for a name that no other program knows is sent to no other program. The name is secret: nothing that
/// can be read without a log-in may show it.
enum PageName {
    private static let key = "page-name"
    private static let letters = Array("abcdefghijklmnopqrstuvwxyz234567")

    /// The name, created once and saved.
    static func kept(in state: PluginState) async throws -> String {
        if let name = try await state.text(key) { return name }
        var generator = SystemRandomNumberGenerator()
        let random = (0..<16).map { _ in letters[Int.random(in: 0..<32, using: &generator)] }
        let name = "hub-\(String(random)).localhost"
        try await state.set(key, to: .text(name))
        return name
    }
}

/// The path below which a proxy shows this site, such as `/health`; empty if the site is at the root of its host.
///
/// The proxy removes the path from each request. Pages, redirects and cookies get it here.
struct BasePath: Sendable, Hashable {
    /// Begins with `/` and does not end with it, or is empty.
    let text: String

    /// The root of the host.
    static let none = BasePath(checked: "")
    /// Home Assistant's has 63 bytes.
    private static let maximumBytes = 200

    private init(checked text: String) { self.text = text }

    /// - Returns: nil unless the path consists of segments of letters, digits, `-`, `.`, `_` and `~`.
    ///
    /// These characters have no meaning in HTML, headers, cookies or JSON. A segment has one at least, so the path names no other host (`//`),
    /// and it is neither `.` nor `..`.
    init?(_ text: String) {
        let segments = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard text.utf8.count <= Self.maximumBytes, segments.count > 1, segments[0].isEmpty,
            segments.dropFirst().allSatisfy(Self.isSegment)
        else { return nil }
        self.text = text
    }

    private static func isSegment(_ bytes: Substring.UTF8View) -> Bool {
        !bytes.isEmpty && !bytes.elementsEqual(".".utf8) && !bytes.elementsEqual("..".utf8)
            && bytes.allSatisfy { byte in
                switch byte {
                case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                    UInt8(ascii: "~"):
                    true
                default: false
                }
            }
    }

    /// The address of a page of this site as the browser has to call it; another address stays as it is.
    func address(of page: String) -> String { page.hasPrefix("/") ? text + page : page }
}

import Platform

/// The progress of the page check, which reads the whole store repeatedly, one piece at a time.
///
/// It is stored in `<store>.checked`, so that a hub that is started every day also reaches the end. Without that file the check starts over.
public struct PageCheck: Hashable, Sendable {
    /// The next page to check, from 1.
    public private(set) var next: Int64 = 1
    /// The number of pages of the store.
    public private(set) var pages: Int64 = 0
    /// When the store was last read completely without damage, in microseconds since 1970.
    public private(set) var whole: Int64?

    private static func path(of store: String) -> String { store + ".checked" }

    init(of store: String) {
        guard let bytes = try? PrivateFile.read(PageCheck.path(of: store), upTo: 256) else { return }
        let numbers = String(decoding: bytes, as: UTF8.self).split(separator: " ").compactMap { Int64($0) }
        guard numbers.count == 3, numbers[0] > 0, numbers[1] >= 0 else { return }
        (next, pages, whole) = (numbers[0], numbers[1], numbers[2] > 0 ? numbers[2] : nil)
    }

    mutating func went(to next: Int64, of pages: Int64, now: Int64) {
        (self.next, self.pages) = (next, pages)
        if next > pages { (self.next, whole) = (1, now) }
    }

    func write(of store: String) {
        _ = try? PrivateFile.write(Array("\(next) \(pages) \(whole ?? 0)".utf8), to: PageCheck.path(of: store))
    }

    static func forget(of store: String) { _ = try? PrivateFile.remove(path(of: store)) }
}

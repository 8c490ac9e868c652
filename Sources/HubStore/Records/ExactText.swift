import Glibc
import Samples

/// A text compared byte by byte.
///
/// `String` takes two normal forms of one text for equal, and would hand back the wrong one.
struct ExactText: Hashable {
    let text: String

    init(_ text: String) { self.text = text }

    static func == (left: ExactText, right: ExactText) -> Bool { same(left.text, right.text) }

    func hash(into hasher: inout Hasher) {
        var copy = text
        copy.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    }

    /// Whether two texts have the same bytes.
    static func same(_ left: String, _ right: String) -> Bool {
        let answer = left.utf8.withContiguousStorageIfAvailable { left in
            right.utf8.withContiguousStorageIfAvailable { right in
                guard left.count == right.count else { return false }
                guard let (first, second) = left.baseAddress.flatMap({ one in right.baseAddress.map { (one, $0) } })
                else { return true }
                return memcmp(first, second, left.count) == 0
            }
        }
        if let answer = answer ?? nil { return answer }
        return left.utf8.elementsEqual(right.utf8)
    }
}

import Glibc

/// Searches for bytes within other bytes.
enum ByteSearch {
    /// The position of the first occurrence; `nil` if there is none.
    ///
    /// Uses `memchr`, because `memmem` is not available everywhere.
    static func find(_ mark: StaticString, in start: UnsafePointer<UInt8>, _ count: Int) -> Int? {
        let (first, length) = (Int32(mark.utf8Start.pointee), mark.utf8CodeUnitCount)
        var place = 0
        while count - place >= length, let found = memchr(start + place, first, count - place - length + 1) {
            place = found.assumingMemoryBound(to: UInt8.self) - UnsafeMutablePointer(mutating: start)
            if memcmp(start + place, mark.utf8Start, length) == 0 { return place }
            place += 1
        }
        return nil
    }
}

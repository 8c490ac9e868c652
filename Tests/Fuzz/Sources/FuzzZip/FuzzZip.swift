import AppleExport
import Glibc

/// One input of libFuzzer: a zip in an anonymous file in memory, because a disk would be too slow.
///
/// An entry must not unpack to more bytes than the directory says.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOneInput(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0, let start, ftruncate(file, 0) == 0, pwrite(file, start, count, 0) == count,
        let archive = try? ZipArchive("/proc/self/fd/\(file)")
    else { return 0 }
    for entry in archive.entries.prefix(8) {
        guard let source = try? archive.open(entry, limit: 1 << 20) else { continue }
        var taken: Int64 = 0
        withUnsafeTemporaryAllocation(byteCount: 4_096, alignment: 16) { buffer in
            while let more = try? source.read(into: buffer), more > 0 { taken += Int64(more) }
        }
        precondition(taken <= min(entry.size, 1 << 20), "an entry unpacks to more bytes than allowed")
    }
    _ = try? ExportPackage("/proc/self/fd/\(file)")
    return 0
}

private let file: CInt = {
    var path = Array("/dev/shm/fuzz-zip-XXXXXX".utf8CString)
    let file = mkstemp(&path)
    unlink(path)
    return file
}()

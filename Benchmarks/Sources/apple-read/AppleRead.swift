import AppleExport
import Foundation

/// Reads an export without a hub: either its tags alone, or the records made of it.
///
///     apple-read tags FILE
///     apple-read records FILE
@main
enum AppleRead {
    static func main() throws {
        let words = CommandLine.arguments
        guard words.count == 3, ["tags", "records"].contains(words[1]) else {
            FileHandle.standardError.write(Data("usage: apple-read tags|records FILE\n".utf8))
            exit(64)
        }
        let begin = ContinuousClock.now
        var count = 0
        if words[1] == "tags" {
            var tokenizer = XMLTokenizer(try ExportPackage(words[2]).openMain())
            while try tokenizer.next() != .end { count += 1 }
            let seconds = (ContinuousClock.now - begin) / .seconds(1)
            print("tags \(count)\nmb_per_s \(Double(tokenizer.endOffset) / 1e6 / seconds)")
        } else {
            let reader = try ExportReader(words[2], scratch: NSTemporaryDirectory())
            while let batch = try reader.next(2_000) { count += batch.count }
            print("records \(count)\nrecords_per_s \(Double(count) / ((ContinuousClock.now - begin) / .seconds(1)))")
        }
    }
}

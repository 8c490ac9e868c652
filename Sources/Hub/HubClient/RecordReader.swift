import HubWire
package import Samples

/// Reads records as the hub prints them.
package struct RecordReader: ~Copyable {
    private var decoder = StoredRecordDecoder()

    package init() {}

    /// - Throws: ``HubExit/dialogue`` if the bytes are not a record.
    package mutating func record(_ bytes: ArraySlice<UInt8>) throws(Failure) -> StoredRecord {
        let result = bytes.withUnsafeBytes { bytes in
            do throws(RecordRejection) {
                return Result<StoredRecord, RecordRejection>.success(try decoder.record(bytes))
            } catch { return .failure(error) }
        }
        do { return try result.get() } catch {
            throw Failure(.dialogue, "the hub sent a record that this program cannot read: \(error.reason); try --json")
        }
    }
}

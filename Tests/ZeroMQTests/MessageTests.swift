import Testing
import ZeroMQ

@Suite struct MessageTests {
    /// Sizes around the one up to which libzmq stores frames inline, and larger ones.
    @Test(arguments: [0, 1, 29, 30, 33, 34, 64, 65, 1000, 1 << 20])
    func `a frame of any size keeps exactly its bytes when it is moved`(size: Int) {
        let bytes = (0..<size).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let message = Message(bytes)
        let count = message.count
        #expect(count == size)
        let moved = consume message
        let read = moved.bytes
        #expect(read == bytes)
        let lent = moved.withBytes { span in (0..<span.count).map { span[$0] } }
        #expect(lent == bytes)
    }

    @Test(arguments: [3, 5000]) func `a copy outlives its original`(size: Int) {
        let bytes = [UInt8](repeating: 7, count: size)
        var copy = Message()
        do {
            var original = Message(bytes)
            copy = original.copy()
        }
        let read = copy.bytes
        #expect(read == bytes)
    }

    @Test func `bytes that are not UTF-8 are not text`() {
        let (good, bad) = (Message("Körper").text, Message([0x4B, 0xFF]).text)
        #expect(good == "Körper")
        #expect(bad == nil)
    }

    @Test func `a frame built in place is not copied and an error while filling frees it`() throws {
        struct Stop: Error {}
        let message = Message(size: 3) { $0.copyBytes(from: [1, 2, 3]) }
        let bytes = message.bytes
        #expect(bytes == [1, 2, 3])
        #expect(throws: Stop.self) { _ = try Message(size: 100) { _ throws(Stop) in throw Stop() } }
    }

    @Test func `a multipart counts, lends, pops and copies its frames`() {
        var message = Multipart()
        message.append("id")
        message.append([1, 2, 3])
        message.append(Message([UInt8](repeating: 9, count: 100)))
        let (count, bytes) = (message.count, message.byteCount)
        #expect(count == 3 && bytes == 105)
        let copy = message.copy()
        let first = message.popFirst()?.text
        #expect(first == "id")
        message.removeAll()
        let (left, copied) = (message.isEmpty, copy.bytes(of: 2).count)
        #expect(left && copied == 100)
    }

    @Test func `a multipart counts its bytes correctly after any sequence of changes`() {
        var message = Multipart()
        var sizes: [Int] = []
        var expected: [[UInt8]] = []
        for step in 0..<2_000 {
            let bytes = [UInt8](repeating: UInt8(step % 251), count: step * 7 % 90)
            switch step % 11 {
            case 0 where step % 3 == 0:
                message.removeAll()
                expected = []
            case 1, 2:
                let first = message.popFirst()?.bytes
                #expect(first == expected.first)
                expected = Array(expected.dropFirst())
            case 3 where expected.count < 100:
                var others = message.copy()
                message.append(copyOf: &others)
                expected += expected
            case 4: message.append(Message(bytes)); expected.append(bytes)
            case 5: message.append(size: bytes.count) { $0.copyBytes(from: bytes) }; expected.append(bytes)
            default: message.append(bytes); expected.append(bytes)
            }
            let (count, size) = (message.count, message.byteCount)
            #expect(count == expected.count && size == expected.reduce(0) { $0 + $1.count })
            sizes.append(size)
        }
        let frames = (0..<message.count).map { message.bytes(of: $0) }
        #expect(frames == expected && sizes.contains { $0 > 1_000 })
    }

    @Test func `a frame that was not received has no properties and no following frame`() {
        let message = Message("x")
        let (user, more) = (message.property("User-Id"), message.hasMore)
        #expect(user == nil && !more)
    }
}

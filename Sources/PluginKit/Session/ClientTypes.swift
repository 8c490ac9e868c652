package import HubWire

/// A batch that a client wants stored: records as JSON text, and the raw bytes they were made from.
package struct OutgoingBatch: Hashable, Sendable {
    package var records: RawRecords
    package var isBackfill: Bool
    /// Payload frames; a record names its own by `"payload": index`.
    package var payloads: [[UInt8]]
    /// How long it is sent again while the hub answers nothing but ERROR `store`, in milliseconds; `nil`: without end.
    package var storePatience: Int64?

    package init(
        records: RawRecords, isBackfill: Bool = false, payloads: [[UInt8]] = [], storePatience: Int64? = nil
    ) {
        (self.records, self.isBackfill, self.payloads) = (records, isBackfill, payloads)
        self.storePatience = storePatience
    }

    /// What it costs when it is sent under `number`: its records, and the bytes of all frames after the verb (§4.3).
    package func cost(number: Int64) -> Credit {
        let envelope = #"{"batch":,"records":[]}"#.utf8.count + (isBackfill ? #","backfill":true"#.utf8.count : 0)
        let body = envelope + String(number).utf8.count + records.joined.count
        return Credit(records: records.count, bytes: body + payloads.reduce(0) { $0 + $1.count })
    }
}

/// A message as frames, from the verb on.
package struct OutgoingMessage: Hashable, Sendable {
    package var verb: Verb
    package var body: [UInt8]
    /// Only with SAMPLES.
    package var payloads: [[UInt8]]

    package init(_ message: ClientMessage, payloads: [[UInt8]] = []) {
        (verb, body, self.payloads) = (message.verb, message.body, payloads)
    }

    package var frames: [[UInt8]] { [verb.bytes, body] + payloads }
}

/// The caller's handle of a batch it has submitted.
package struct BatchTicket: Hashable, Sendable {
    package let number: Int64
}

/// Why a batch is not taken.
package enum SubmitError: Error, Hashable, Sendable {
    /// The queue is full; try again after the next `stored`.
    case full
    /// The batch has no records.
    case empty
    /// The dialogue is over or is finishing.
    case closed
}

/// What the owner of the socket does, in this order.
package enum ClientAction: Hashable, Sendable {
    case send(OutgoingMessage)
    /// A session is open; what was not STORED is being sent again.
    ///
    /// Ask open questions again.
    case opened(Welcome)
    /// The session is over for this reason, a sentence for the log; the machine goes on by itself.
    case lost(String)
    /// The hub refuses types of `declare`, and is greeted without them.
    case undeclared(WireError)
    /// The hub holds the batch: a result per record.
    ///
    /// Comes once per ticket.
    case stored(BatchTicket, [RecordResult])
    /// The hub, or a limit of its WELCOME, will never take the batch as it is; or its store failed for longer than
    /// ``OutgoingBatch/storePatience``.
    ///
    /// Comes once per ticket, instead of `stored`.
    case refused(BatchTicket, WireError)
    /// RESULT, COMMAND, PROGRESS, OUTCOME, WANT, DELIVER, TOKEN, or an ERROR that answers one of the caller's own messages.
    case deliver(HubMessage)
    /// The hub asks to finish within the deadline: finish what you have begun, then call `finish`.
    case stop(Stop)
    /// The dialogue is over; nothing follows.
    case ended(ClientEnd)
}

/// Why a dialogue is over.
package enum ClientEnd: Hashable, Sendable {
    /// The caller finished, and everything it submitted was answered.
    case finished
    /// The hub asked to stop.
    ///
    /// What was not answered has to be sent to the next hub.
    case stopped
    /// The hub will not have this client; a person must look at the reason.
    case fatal(WireError)
}

/// Bounds and delays of a client, in milliseconds where they are times.
package struct ClientPolicy: Hashable, Sendable {
    /// The first HELLO is repeated after this, then after twice as long, and so on.
    package var helloRepeat: Int64
    package var longestHelloRepeat: Int64
    /// The wait before HELLO when sessions are lost one after the other, doubled each time.
    package var lossDelay: Int64
    package var longestLossDelay: Int64
    /// The wait after an ERROR `store` that names none.
    package var storeDelay: Int64
    /// Whether STOP is the end of this hub alone: for a program that no hub has started, and that waits for the next hub.
    package var outlivesHub: Bool
    /// Batches that wait to be sent or answered.
    package var queuedBatches: Int
    /// Bytes of their records and payloads together.
    package var queuedBytes: Int

    package init(
        helloRepeat: Int64 = 1_000, longestHelloRepeat: Int64 = 15_000, lossDelay: Int64 = 250,
        longestLossDelay: Int64 = 30_000, storeDelay: Int64 = 1_000,
        outlivesHub: Bool = false, queuedBatches: Int = 256, queuedBytes: Int = 16_777_216
    ) {
        (self.helloRepeat, self.longestHelloRepeat) = (helloRepeat, longestHelloRepeat)
        (self.lossDelay, self.longestLossDelay, self.storeDelay) = (lossDelay, longestLossDelay, storeDelay)
        self.outlivesHub = outlivesHub
        (self.queuedBatches, self.queuedBytes) = (queuedBatches, queuedBytes)
    }
}

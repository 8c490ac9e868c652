import JSON

// Answers of the centre (Docs/Central.md); unknown members are ignored.

/// The centre's answer to hello.
struct HelloAnswer: Hashable, Sendable {
    /// A consent that the centre has.
    struct Want: Hashable, Sendable {
        var study: String
        var person: String
        var types: [String]
        var since: String
        var until: String?
    }

    /// Changes with a restore of the centre.
    var incarnation: Int
    /// The number of the newest stored batch.
    var batch: Int
    /// Whether the hub was restored and must compare its records with the centre's.
    var mustReconcile: Bool
    /// Seconds by which the hub's clock is behind the centre's.
    var skew: Double
    /// Server settings that make receipts untrue.
    var settings: [String]
    var serves: Set<String>
    var wants: [Want]

    /// The state before the first hello.
    init() {
        (incarnation, batch, mustReconcile, skew) = (0, 0, false, 0)
        (settings, serves, wants) = ([], [], [])
    }

    init?(_ tree: JSONTree) {
        guard let incarnation = tree["incarnation"]?.integer, let batch = tree["batch"]?.integer else { return nil }
        (self.incarnation, self.batch) = (incarnation, batch)
        mustReconcile = tree["reconcile"]?.truth ?? false
        skew = tree["skew"]?.double ?? 0
        settings = tree["settings"]?.texts ?? []
        serves = Set(tree["serves"]?.texts ?? [])
        wants = (tree["wants"]?.list ?? []).compactMap { want in
            guard let study = want["study"]?.text, let person = want["person"]?.text, let since = want["since"]?.text
            else { return nil }
            return Want(
                study: study, person: person, types: want["types"]?.texts ?? [], since: since,
                until: want["until"]?.text)
        }
    }
}

/// The centre's answer to a batch.
struct BatchReceipt: Hashable, Sendable {
    enum ReceiptCode: Character { case stored = "s", had = "h", noConsent = "c", noType = "t" }

    /// One for each record, in order.
    var letters: [ReceiptCode]
    var receipt: String
    /// Milliseconds to wait before the next batch.
    var pause: Int

    init?(_ tree: JSONTree) {
        guard let answer = tree["answer"]?.text, let receipt = tree["receipt"]?.text else { return nil }
        let letters = answer.compactMap(ReceiptCode.init)
        guard letters.count == answer.count else { return nil }
        (self.letters, self.receipt, pause) = (letters, receipt, tree["pause"]?.integer ?? 0)
    }
}

/// A study in which this hub may take part.
struct Study: Hashable, Sendable, Encodable {
    var study: String
    var title: String
    /// The text for the people who are asked.
    var words: String
    var types: [String]
    /// The minimum number of persons in published figures.
    var group: Int
    /// Whether the study sees single records, under a pseudonym.
    var rows: Bool
    var ends: String?

    init?(_ tree: JSONTree) {
        guard let study = tree["study"]?.text, let types = tree["types"]?.texts else { return nil }
        (self.study, self.types) = (study, types)
        (title, words) = (tree["title"]?.text ?? study, tree["words"]?.text ?? "")
        (group, rows, ends) = (tree["group"]?.integer ?? 0, tree["rows"]?.truth ?? true, tree["ends"]?.text)
    }
}

extension JSONTree {
    /// The texts of a list.
    var texts: [String]? { list?.compactMap(\.text) }
}

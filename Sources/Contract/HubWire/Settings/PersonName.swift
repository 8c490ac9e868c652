import Foundation

/// A person with the name in `hub.conf` and the name shown to people.
public protocol NamedPerson {
    /// The name of the table `[person.NAME]`, also used in topics, records and directories.
    var name: String { get }
    /// The name as people write it, with any letters; nil if it equals ``name``.
    var displayName: String? { get }
}

extension NamedPerson {
    /// The name to show.
    public var shownName: String { displayName ?? name }
    /// The name to show to people when they can type either name: `Jürgen (juergen)`.
    public var bothNames: String { displayName.map { $0 == name ? name : "\($0) (\(name))" } ?? name }

    /// Whether a text is one of the person's names, ignoring case.
    fileprivate func isNamed(_ folded: String) -> Bool {
        PersonName.folded(name) == folded || displayName.map(PersonName.folded) == folded
    }
}

extension Sequence where Element: NamedPerson {
    /// Finds the person meant by a typed name: an exact name first, else the only person with that name in another case or as display name.
    public func named(_ typed: String) -> Element? {
        if let exact = first(where: { $0.name == typed }) { return exact }
        let folded = PersonName.folded(typed)
        let meant = filter { $0.isNamed(folded) }
        return meant.count == 1 ? meant[0] : nil
    }

    /// Advice for a typed name that matches no person: `did you mean anna?`, else the known names.
    public func advice(on typed: String) -> String {
        let persons = Array(self)
        let names = persons.flatMap { [$0.name, $0.displayName].compactMap(\.self) }
        if let name = nearestName(to: typed, among: names) { return "did you mean \(name)?" }
        return persons.isEmpty
            ? "it has none: add a section [person.NAME]" : "it has \(persons.map(\.bothNames).joined(separator: ", "))"
    }
}

/// Rules for the names of people.
public enum PersonName {
    /// Maximum length of a display name.
    static let maximumCharacters = 64, maximumBytes = 256

    /// For comparison: names that fold to the same text are one name.
    ///
    /// Upper and lower case count as one, and so does a letter with an accent however it is encoded.
    public static func folded(_ name: String) -> String {
        // Fold both ways, because ß has two capital letters and Σ two small ones.
        name.uppercased().lowercased().precomposedStringWithCanonicalMapping
    }

    /// The text with one code point for each accented letter, if there is one.
    package static func precomposed(_ name: String) -> String { name.precomposedStringWithCanonicalMapping }

    /// The fault of a display name; nil if it has none.
    public static func fault(ofDisplayName name: String) -> String? {
        if name.count > maximumCharacters || name.utf8.count > maximumBytes {
            return "expected at most \(maximumCharacters) characters and \(maximumBytes) bytes"
        }
        if let scalar = name.unicodeScalars.first(where: { !isShown($0) }) {
            let code = String(scalar.value, radix: 16, uppercase: true)
            return "expected letters, spaces and signs that are seen; U+\(code) is a control character, or is not seen"
        }
        if name.first == " " || name.last == " " { return "expected no space at its beginning and end" }
        guard name.contains(where: { $0.isLetter || $0.isNumber }) else { return "expected a letter" }
        return nil
    }

    /// Whether a name may contain the character: characters that move or hide others would make it look like another name.
    private static func isShown(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        // Persian and Indian languages need these two.
        case .format: scalar.value == 0x200C || scalar.value == 0x200D
        case .spaceSeparator: scalar == " "
        case .control, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: false
        default: true
        }
    }

    /// Derives a name for `hub.conf` from a display name: `juergen` from Jürgen, `anna-maria` from Anna Maria.
    ///
    /// - Returns: nil if it has no letter that can be written in A–Z.
    public static func derived(from displayName: String) -> String? {
        let spelled = displayName.precomposedStringWithCanonicalMapping.lowercased()
            .map { spellings[$0] ?? String($0) }.joined()
        let latin = spelled.applyingTransform(.toLatin, reverse: false) ?? spelled
        let plain = latin.decomposedStringWithCanonicalMapping.lowercased().unicodeScalars
        var name = ""
        for scalar in plain {
            switch scalar {
            case "a"..."z", "0"..."9": name.unicodeScalars.append(scalar)
            default:
                // Accents, and apostrophes within a name, do not separate words.
                if scalar.properties.generalCategory == .nonspacingMark || "'’ʼʹʺ".unicodeScalars.contains(scalar) {
                    continue
                }
                if !name.isEmpty, name.last != "-" { name.append("-") }
            }
        }
        let cut = String(name.prefix(maximumCharacters)).trimming("-")
        return PeerName.isValid(cut) ? cut : nil
    }

    /// The reason why entered names cannot be added.
    public struct InvalidNames: Error {
        /// One sentence.
        public let reason: String
    }

    /// Makes new persons from names in any letters.
    ///
    /// A name that cannot be a table's name becomes the display name, and the table gets a name derived from it.
    public static func entered(
        _ typed: [String], besides others: [some NamedPerson]
    ) throws(InvalidNames) -> [EnteredPerson] {
        var added: [EnteredPerson] = []
        var taken = Set((others.map(\.name) + others.compactMap(\.displayName)).map(folded))
        for text in typed {
            guard !taken.contains(folded(text)) else {
                throw InvalidNames(reason: "\(text) is there twice; upper and lower case count as one")
            }
            var person = EnteredPerson(name: text)
            if !PeerName.isValid(text) {
                if let fault = fault(ofDisplayName: text) { throw InvalidNames(reason: "\(text.prefix(64)): \(fault)") }
                let stem = String((derived(from: text) ?? "person").prefix(maximumCharacters - 4))
                var number = 1
                repeat {
                    person.name = number == 1 ? stem : "\(stem)-\(number)"
                    number += 1
                } while taken.contains(folded(person.name))
                person.displayName = precomposed(text)
            }
            taken.formUnion([folded(person.name), folded(text)])
            added.append(person)
        }
        return added
    }

    /// Usual spellings on keyboards that lack these letters.
    private static let spellings: [Character: String] = [
        "ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "æ": "ae", "ø": "oe", "å": "aa", "œ": "oe", "þ": "th", "ð": "d",
        "ł": "l", "đ": "d", "ı": "i",
    ]
}

/// A person whose name was just entered, and is in no file yet.
public struct EnteredPerson: NamedPerson, Hashable, Sendable {
    public internal(set) var name: String
    public internal(set) var displayName: String?
}

extension String {
    fileprivate func trimming(_ character: Character) -> String {
        var text = self[...]
        while text.last == character { text = text.dropLast() }
        return String(text)
    }
}

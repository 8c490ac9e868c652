/// A name of the bus such as `asleepCore`, as people read it.
package enum NameWords {
    /// Names that do not become words by their letters alone.
    private static let special = [
        "aPositive": "A+", "aNegative": "A-", "bPositive": "B+", "bNegative": "B-", "abPositive": "AB+",
        "abNegative": "AB-", "oPositive": "O+", "oNegative": "O-", "datedByHub": "Dated by the hub",
    ]

    /// A type that the standard does not name: `x.ihealth.muscleMass` is `Muscle mass (ihealth)`.
    package static func type(_ id: String) -> String {
        let parts = id.split(separator: ".")
        switch (parts.first, parts.count) {
        case ("x", 3...): return "\(text(parts.dropFirst(2).joined(separator: " "))) (\(parts[1]))"
        case ("hc", 2...): return "\(text(parts.dropFirst().joined(separator: " "))) (Health Connect)"
        default: return id
        }
    }

    /// A member of metadata and its value, if both are of the kind that programs write: `wasUserEntered`, `true`.
    package static func fact(_ name: String, _ value: String) -> (name: String, value: String) {
        let isName = name.first?.isLowercase == true && name.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }
        let isWord = value.wholeMatch(of: /[a-z]+([A-Z]+[a-z]*)+/) != nil
        let words = value == "true" ? "yes" : value == "false" ? "no" : isWord ? text(value) : value
        return (isName ? text(name) : name, isName ? words : value)
    }

    /// `Asleep core`; capitals that stand together stay: `Asleep REM`.
    package static func text(_ name: String) -> String {
        if let words = special[name] { return words }
        var (words, isWithinCapitals) = ("", false)
        for letter in name {
            if letter.isUppercase, !isWithinCapitals, !words.isEmpty { words += " " }
            words.append(letter)
            isWithinCapitals = letter.isUppercase
        }
        let parts = words.split(separator: " ").enumerated().map { index, word in
            index == 0 || word.dropFirst().contains(where: \.isUppercase) ? String(word) : word.lowercased()
        }
        return words.prefix(1).uppercased() + parts.joined(separator: " ").dropFirst()
    }
}

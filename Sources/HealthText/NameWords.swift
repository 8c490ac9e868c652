/// A name of the bus such as `asleepCore`, as people read it.
package enum NameWords {
    /// `Asleep core`; capitals that stand together stay: `Asleep REM`.
    package static func text(_ name: String) -> String {
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

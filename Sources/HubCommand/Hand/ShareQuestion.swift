import HandEntries
import HubClient
import Samples

/// A share without its sign that can be read in two ways, which the person is asked about.
enum ShareQuestion {
    /// The words of a value, with the share that is meant; without a terminal they stay, and are refused.
    static func answered(_ words: [String], of type: HealthType?) throws(Failure) -> [String] {
        guard Terminal.canAsk, words.count == 1, let (first, second) = ValueArgument.meanings(of: words[0], type)
        else { return words }
        Terminal.say("\(words[0]) can be:")
        Terminal.say("  1  \(first)")
        Terminal.say("  2  \(second)")
        Terminal.progress("Which? [1/2] ")
        switch readLine() {
        case "1": return [first]
        case "2": return [second]
        default: throw Failure(.notWell, "nothing was changed")
        }
    }
}

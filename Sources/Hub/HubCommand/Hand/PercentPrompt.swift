import HealthText
import HubClient
import Samples

/// A question about a percentage that was typed without its sign and can be read in two ways.
enum PercentPrompt {
    /// The words of a value with the meant percentage; without a terminal they stay as they are, and are refused later.
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
        default: throw Failure(.unhealthy, "nothing was changed")
        }
    }
}

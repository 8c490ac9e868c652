import Foundation
import HubProcess
import JSON

/// Judges JSON by the schemas, as another project's program would: with Python's jsonschema.
enum SchemaJudge {
    struct Question: Encodable {
        /// What is judged, for people.
        var name: String
        /// `client/HELLO.json`, with a `#` and a place in it where that is meant.
        var schema: String
        /// JSON; `nil`: the schema itself is judged, by its metaschema.
        var text: String?
        /// Whether members that the schema does not list are wrong: true where this project wrote the text itself.
        var closed = false
    }

    struct Verdict {
        var question: Question
        /// Empty where it is valid.
        var faults: [String]
        var isValid: Bool { faults.isEmpty }
    }

    struct Failure: Error, CustomStringConvertible {
        let description: String
    }

    /// The verdicts in the order of the questions.
    static func verdicts(on questions: [Question]) async throws -> [Verdict] {
        let folder = try TemporaryFolder()
        let lines = try questions.map { String(decoding: try JSONEncoder().encode($0), as: UTF8.self) + "\n" }
        let file = try folder.write(lines.joined(), to: "questions")
        let program = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "validate.py").path
        let python = try ChildProcess(
            try Tool.python(with: "jsonschema"), [program, Documents.schemas], input: FileHandle(forReadingAtPath: file)
        )
        let result = await python.result()
        guard result.code == 0 else { throw Failure(description: result.errors) }
        let answers = try result.output.split(separator: "\n").map { line in
            try JSONDecoder().decode([String].self, from: Data(line.utf8))
        }
        guard answers.count == questions.count else {
            throw Failure(description: "\(answers.count) answers to \(questions.count) questions: \(result.errors)")
        }
        return zip(questions, answers).map { Verdict(question: $0, faults: $1) }
    }
}

import Foundation
import HubProcess
import JSON

/// Validates JSON by the schemas with Python's jsonschema, as another project would.
enum SchemaJudge {
    struct Question: Encodable {
        /// A readable name of the validated text.
        var name: String
        /// A schema such as `client/HELLO.json`, optionally with `#` and a pointer into it.
        var schema: String
        /// The JSON to validate.
        ///
        /// If it is `nil`, the schema itself is validated by its metaschema.
        var text: String?
        /// Whether members that the schema does not list are faults, as in texts that this project wrote.
        var closed = false
    }

    struct Verdict {
        var question: Question
        /// Empty if the text is valid.
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

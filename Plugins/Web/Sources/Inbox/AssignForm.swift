import Foundation
import HealthText
import PluginKit
import Samples

/// Buttons that assign records to persons.
enum AssignForm {
    /// A button for each person with the hub's odds, likeliest first, one for a guest, and one to delete the record.
    static func candidates(_ weighing: PendingWeighing, _ choice: SelectedPerson, _ grants: OwnerGrants) -> HTML {
        let odds = WeightOddsText(weighing.why)
        let persons = choice.persons.enumerated().sorted { left, right in
            let (first, second) = (odds.rank(of: left.element.name), odds.rank(of: right.element.name))
            return first != second ? first < second : left.offset < right.offset
        }.map(\.element)
        let buttons = HTML.each(persons) { person in
            "<button name=\"to\" value=\"\(person.name)\">\(person.shownName)\(odds.shares[person.name].map { " \($0)" } ?? "")</button> "
        }
        let records = RecordVersions.text(weighing.records)
        let fields = FormFields.hidden("records", records)
        var forms = HTML()
        if grants.have(.assign) {
            forms +=
                "<form class=\"inline\" method=\"post\" action=\"\(url: "/inbox/assign")\">\(fields)\(buttons)<button name=\"guest\" value=\"true\">A guest's</button></form>"
        }
        if grants.have(.retract) { forms += HTML.button("/inbox/delete", "Delete", [("records", records)]) }
        return forms
    }

    /// Buttons on the page of a record, for the owner: another person, a guest, or an undo of that.
    static func html(_ record: StoredRecord, _ choice: SelectedPerson, _ grants: OwnerGrants) -> HTML {
        let others = choice.persons.filter { $0.name != record.assignment.person?.name }
        guard choice.viewer.isOwner, grants.have(.assign) else { return HTML() }
        let records = RecordVersions.text([record])
        let guest =
            record.assignment.isGuest
            ? HTML.button("/inbox/assign", "It is no guest's", [("records", records), ("undo", "true")])
            : HTML.button("/inbox/assign", "It is a guest's", [("records", records), ("guest", "true")])
        guard !others.isEmpty else { return guest }
        let options = others.map { FormOption(value: $0.name, text: $0.shownName) }
        return """
            <form class="inline" method="post" action="\(url: "/inbox/assign")">\
            \(FormFields.hidden("records", records))\
            <label for="owner">It is another's:</label> <select id="owner" name="to">\(FormFields.options(options, chosen: nil))</select>
            <button>Give it to them</button></form> \(guest)
            """
    }
}

/// A button that confirms a value that looks wrong.
enum ConfirmForm {
    static func html(_ record: StoredRecord, _ choice: SelectedPerson, _ grants: OwnerGrants) -> HTML {
        guard grants.have(.edit) else { return HTML() }
        return HTML.button(
            "\(RecordDetailPage.path(record.number))/confirm", "It is so", [("version", "\(record.sequence)")]
        )
    }
}

/// Records with their versions, as forms carry them: `12:15,13:16`.
enum RecordVersions {
    static func text(_ records: [StoredRecord]) -> String {
        records.map { "\($0.number):\($0.sequence)" }.joined(separator: ",")
    }

    /// At most a thousand; nil for a text that no form of this site contains.
    static func read(_ text: String) -> [Int64: Int64]? {
        var versions: [Int64: Int64] = [:]
        for part in text.split(separator: ",", omittingEmptySubsequences: false) {
            let numbers = part.split(separator: ":").map { Int64($0) }
            guard numbers.count == 2, let number = numbers[0], let version = numbers[1], number > 0,
                versions.count < 1_000
            else { return nil }
            versions[number] = version
        }
        return versions
    }
}

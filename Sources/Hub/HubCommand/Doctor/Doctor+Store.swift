import CLinux
import Foundation
import HealthText
import HubClient
import HubCore
import HubSettings
import HubStore
import Samples

/// Checks of the clock and the records.
extension Doctor {
    func clock() -> [DoctorFinding] {
        var found: [DoctorFinding] = []
        if case .simulated? = configuration?.hub.clock {
            found.add(.warning, "clock", "[hub] clock is simulated: only for tests, not for real records")
        }
        var state = timex()
        if adjtimex(&state) == TIME_ERROR {
            found.add(
                .warning, "clock", "nothing keeps this machine's clock right (not synchronised)",
                repair: "sudo timedatectl set-ntp true")
        }
        let earliest = Date(timeIntervalSince1970: 1_735_689_600)  // 2025: older than this program.
        if now < earliest {
            found.add(
                .error, "clock", "the clock says \(now), which is long past", repair: "sudo timedatectl set-ntp true")
        }
        let zones = Set(
            (configuration?.persons.compactMap(\.zone) ?? []) + [configuration?.hub.zone ?? "Europe/Berlin"])
        for zone in zones.sorted() where access("/usr/share/zoneinfo/\(zone)", R_OK) != 0 {
            found.add(
                .error, "clock", "the machine has no time zone data for \(zone): local days cannot be computed",
                repair: "sudo apt-get install tzdata")
        }
        return found.isEmpty
            ? [DoctorFinding(.good, "clock", "it is synchronized, and the time zones are known")] : found
    }

    func store() -> [DoctorFinding] {
        let file = StoreFile(files.store)
        do throws(StoreError) {
            let summary = try file.summary()
            let glance = isDeep ? StoreFile.Glance(faults: try file.faults(.counters)) : try file.glance()
            var found = glance.faults.map { fault in
                DoctorFinding(
                    .error, "store", "\(files.store) is damaged: \(fault)",
                    repair:
                        "stop the hub, then hub restore BACKUP; keep the damaged file. Without a backup: hub salvage FILE"
                )
            }
            if let damage = try knownDamage(file, isWhole: isDeep && found.isEmpty) { found.append(damage) }
            found += try file.schemaFaults().map { fault in
                DoctorFinding(
                    .error, "store", "\(fault): another program has changed the store",
                    repair: "stop the hub, then hub restore BACKUP, or hub salvage FILE, which copies only the records")
            }
            if isDeep, found.isEmpty { found += try rollups(file) }
            if case .system = configuration?.hub.clock ?? .system { found += try times(file, summary) }
            if found.isEmpty {
                found.add(
                    .good, "store",
                    StoreText.summary(summary)
                        + (isDeep ? "; every index and counter is right" : Doctor.extent(of: glance)))
            }
            return try found + gaps(file)
        } catch {
            // If its log exists, that is the better message, as StoreFile has reported.
            if error.code != .corrupt, let loss = files.lostStore {
                return .one(.error, "store", loss, repair: "hub restore BACKUP")
            }
            if error.code == .missing {
                return .one(.note, "store", "there is no store yet: \(files.store)", repair: "hub run")
            }
            return .one(.error, "store", error.message, repair: Doctor.repair(of: error.code))
        }
    }

    /// The share of a large store that was checked.
    private static func extent(of glance: StoreFile.Glance) -> String {
        guard let looked = glance.looked else { return "" }
        let whole =
            glance.whole.map { "all of it was whole \(LocalTime.text($0))" } ?? "the hub reads all of it within a week"
        return "; looked at \(NumberText.bytes(looked)) of it (\(whole); hub doctor --deep reads all now)"
    }

    /// The damage because of which the hub confirms nothing, and the person's options.
    private func knownDamage(_ file: StoreFile, isWhole: Bool) throws(StoreError) -> DoctorFinding? {
        guard let damage = try file.knownDamage() else { return nil }
        var finding = DoctorFinding(
            .error, "store", "the hub confirms nothing since it found damage: \(damage)",
            repair: isWhole
                ? "all of it has been read now and is whole: hub doctor --deep --fix lets the hub confirm again"
                : isDeep
                    ? "stop the hub, then hub restore BACKUP; keep the damaged file. Without a backup: hub salvage FILE"
                    : "hub doctor --deep")
        if isWhole { finding.damaged = file }
        return finding
    }

    /// Checks whether the kept statistics agree with the samples.
    private func rollups(_ file: StoreFile) throws(StoreError) -> [DoctorFinding] {
        try file.rollupFaults().map { fault in
            var finding = DoctorFinding(
                .error, "store", "\(fault): hub stats may be wrong, the samples are not",
                repair: "stop the hub, then hub doctor --deep --fix: it is computed again")
            finding.rolledUp = file
            return finding
        }
    }

    /// The current time, limited to the range of records: the clock may be wrong by any number of years.
    private var microseconds: Int64 {
        let (first, last) = (Timestamp.range.lowerBound / 1_000_000, Timestamp.range.upperBound / 1_000_000)
        return Int64(min(max(now.timeIntervalSince1970, Double(first)), Double(last))) * 1_000_000
    }

    /// The gaps that were found in the store when it was opened.
    private func gaps(_ file: StoreFile) throws(StoreError) -> [DoctorFinding] {
        let time = microseconds
        // A salvage leaves one gap for each run of lost records, all with the same time.
        var times: Set<Int64> = []
        return try file.gaps().filter { time - $0.at < SequenceGap.newsLifetime && times.insert($0.at).inserted }.map {
            gap in
            DoctorFinding(
                gap.cause == .lost ? .warning : .note, "store", "\(LocalTime.text(gap.at)): \(gap.text)",
                repair: gap.cause == .lost ? "see smartctl -a and dmesg: the disk may lose confirmed writes" : nil)
        }
    }

    /// The repair for an error; restoring a backup is the repair only for damage.
    private static func repair(of code: StoreError.Code) -> String {
        switch code {
        case .newerSchema: "update hub"
        case .input: "see dmesg and the disk's own report (smartctl -a); then hub doctor again"
        case .busy: "hub status says how the hub is; then hub doctor again"
        case .readOnly:
            "ls -ld its folder and ls -l the file: they must belong to the hub's user; hub doctor --fix restores modes"
        case .full: "make room"
        case .corrupt: "run hub doctor --deep again; if it finds this again, stop the hub, then hub restore BACKUP"
        default: "stop the hub, then hub restore BACKUP"
        }
    }

    /// A tolerance of one day: zones and slow clocks of devices are not faults of the machine.
    private static let patience: Int64 = 86_400_000_000

    private func times(_ file: StoreFile, _ summary: StoreSummary) throws(StoreError) -> [DoctorFinding] {
        let time = microseconds
        var found: [DoctorFinding] = []
        if let newest = summary.newest, newest > time + 60_000_000 {
            found.add(
                .error, "clock",
                "the newest record was stored at \(LocalTime.text(newest)), later than it is now: the clock has gone back",
                repair: "timedatectl; set the clock right before the next measurement")
        }
        if let latest = try file.latestStart(), latest > time + Doctor.patience {
            found.add(
                .warning, "store",
                "there are samples in the future, up to \(LocalTime.text(latest)): a device's clock is wrong",
                repair: "see hub samples --from today; set the device's clock, then hub retract the wrong ones")
        }
        return found
    }
}

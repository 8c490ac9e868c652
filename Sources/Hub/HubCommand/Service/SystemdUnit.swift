import Foundation
import HubClient
import HubCore
import HubSettings

/// The unit file that runs a hub under systemd.
struct SystemdUnit {
    /// The service manager that runs it.
    enum Manager: String, CaseIterable {
        /// That of the log-in session, as this user.
        case user
        /// That of the machine, as a dedicated user.
        case system

        /// The target that starts the unit.
        fileprivate var target: String { self == .user ? "default.target" : "multi-user.target" }
    }

    let manager: Manager
    /// Absolute.
    let program, configuration: String
    /// The files of that configuration.
    let files: HubFiles
    /// Whether a user's service manager can have user namespaces on this machine: a unit that needs one fails to start without.
    var hasNamespaces = true
    /// Whether it is the unit of the Debian package and not of one machine.
    private(set) var isPackaged = false

    /// The unit of the Debian package, with its places.
    ///
    /// A user's unit asks for no namespaces, because some of the machines that install it do not give users any.
    static func packaged(_ manager: Manager) -> SystemdUnit {
        SystemdUnit(
            manager: manager, program: "/usr/lib/health-hub/bin/hub", configuration: "/etc/health-hub/hub.conf",
            files: HubFiles(HubSection(data: "/var/lib/\(account)", run: "/run/\(account)")),
            hasNamespaces: manager == .system, isPackaged: true)
    }

    static let name = "hub.service"
    /// The account of the system-wide hub.
    static let account = "health-hub"
    /// Distinguishes our file from files that others wrote.
    static let mark = "# Written by hub service; hub service remove takes it away."
    private static let packageMark =
        "# Part of the package health-hub; change it with systemctl edit, because upgrades replace this file."

    var text: String {
        ([isPackaged ? SystemdUnit.packageMark : SystemdUnit.mark] + unit + [""] + service + [""] + hardening + [""]
            + install).joined(separator: "\n") + "\n"
    }

    private var unit: [String] {
        let after = manager == .system ? ["After=local-fs.target time-sync.target bluetooth.service"] : []
        // Always restart: a condition that the hub waits for (a disk, a clock, memory) may be met at any hour.
        let manual = isPackaged ? ["Documentation=man:hub-run(1)"] : []
        return ["[Unit]", "Description=Personal health data hub"] + manual + after + ["StartLimitIntervalSec=0"]
    }

    private var service: [String] {
        let account = manager == .system ? ["User=\(SystemdUnit.account)", "Group=\(SystemdUnit.account)"] : []
        return ["[Service]"] + account + [
            "# READY=1 once door and feed are open; a store of an older format is copied and brought up to date before.",
            "Type=notify", "NotifyAccess=main", "TimeoutStartSec=15min",
            "ExecStart=\(SystemdUnit.word(program)) run --config \(configurationWord)",
            "ExecReload=/bin/kill -HUP $MAINPID",
            "# 75 (memory_limit, or another hub still ends) and crashes are tried again; errors that only a person can repair are not:",
            "# 64 arguments, 65 and 66 hub.conf.", "Restart=on-failure", "RestartSec=5", "RestartForceExitStatus=75",
            "RestartPreventExitStatus=64 65 66",
            "# The hub reports to the watchdog only while its poll loop runs and commits return.", "WatchdogSec=60",
            "# The hub ends its plugins itself, in order; processes left after it are killed.", "KillMode=mixed",
            "# The kernel enforces each plugin's memory_limit, in groups that the hub makes: therefore no ProtectControlGroups=.",
            "Delegate=memory", "TimeoutStopSec=30", "LimitNOFILE=65536", "LimitCORE=0", "UMask=0077",
        ]
    }

    private var configurationWord: String {
        // systemd replaces %E by the user's folder for configurations.
        isPackaged && manager == .user ? "%E/health-hub/hub.conf" : SystemdUnit.word(configuration)
    }

    private var hardening: [String] {
        var lines = [
            "# hub-confine confines each plugin with namespaces, Landlock and a system call filter: the calls for that stay allowed, and",
            "# so do the needs of some plugins: Bluetooth (RFCOMM), serial devices, the network. No plugin gets more than this unit has.",
            "# No ProtectProc=: the hub looks up in /proc which process connects to its owner's endpoints.",
            "NoNewPrivileges=yes", "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_BLUETOOTH",
            "RestrictNamespaces=user mnt pid", "SystemCallArchitectures=native",
            "SystemCallFilter=@system-service @mount landlock_create_ruleset landlock_add_rule landlock_restrict_self",
            "SystemCallFilter=~@clock @cpu-emulation @debug @keyring @module @obsolete @raw-io @reboot @swap",
            "SystemCallErrorNumber=EPERM", "LockPersonality=yes", "RestrictRealtime=yes", "RestrictSUIDSGID=yes",
            "KeyringMode=private", "PrivateMounts=yes", "ProtectClock=yes", "ProtectHostname=yes",
            "ProtectKernelLogs=yes", "ProtectKernelModules=yes", "ProtectKernelTunables=yes",
        ]
        if manager == .system || hasNamespaces { lines.append("CapabilityBoundingSet=") }
        if hasNamespaces { lines.append("PrivateUsers=yes") }
        guard manager == .system else { return lines + ["ProtectSystem=full"] }
        return lines + [
            "ProtectSystem=strict", "ProtectHome=\(isAtHome ? "read-only" : "yes")", "PrivateTmp=yes", "RemoveIPC=yes",
            "# Serial scales; systemctl edit hub adds another: DeviceAllow=char-NAME rw (/proc/devices).",
            "DevicePolicy=closed", "DeviceAllow=char-ttyUSB rw", "DeviceAllow=char-ttyACM rw",
            "DeviceAllow=char-ttyS rw", "DeviceAllow=char-rfcomm rw",
        ] + folders
    }

    /// Whether the hub needs files in a person's home, which must then stay visible.
    private var isAtHome: Bool {
        [program, configuration, files.data, files.run].contains { path in
            ["/home/", "/root/", "/run/user/"].contains { path.hasPrefix($0) }
        }
    }

    /// The folders that the hub may write; systemd creates those in the usual places.
    private var folders: [String] {
        var lines: [String] = []
        var others: [String] = []
        for (folder, place, setting) in [
            (files.data, "/var/lib/", "StateDirectory"), (files.run, "/run/", "RuntimeDirectory"),
        ] {
            let name = folder.hasPrefix(place) ? String(folder.dropFirst(place.count)) : ""
            if name.isEmpty || name.hasPrefix("user/") {
                others.append("ReadWritePaths=\(SystemdUnit.word(folder))")
            } else {
                lines += ["\(setting)=\(SystemdUnit.word(name))", "\(setting)Mode=0700"]
            }
        }
        // The hub writes hub.conf when the page or hub configure changes a setting. /etc itself is not for it.
        let folder = URL(filePath: configuration).deletingLastPathComponent().path
        if folder.hasPrefix("/etc/") { others.append("ReadWritePaths=\(SystemdUnit.word(folder))") }
        return lines + others
    }

    private var install: [String] { ["[Install]", "WantedBy=\(manager.target)"] }

    /// A word for a unit file: escapes `%` and `$`, and quotes a word with spaces.
    static func word(_ text: String) -> String {
        let escaped = text.replacingOccurrences(of: "\\", with: "\\\\").replacingOccurrences(of: "\"", with: "\\\"")
            .replacingOccurrences(of: "%", with: "%%").replacingOccurrences(of: "$", with: "$$")
        return escaped.contains(where: { $0 == " " || $0 == "\t" || $0 == "'" })
            || escaped != text && escaped.contains("\\") ? "\"\(escaped)\"" : escaped
    }

    /// The path of the unit file.
    static func path(_ manager: Manager, environment: [String: String]) throws(Failure) -> String {
        guard manager == .user else { return "/etc/systemd/system/\(name)" }
        if let folder = environment["XDG_CONFIG_HOME"], folder.hasPrefix("/") {
            return "\(folder)/systemd/user/\(name)"
        }
        guard let home = environment["HOME"], !home.isEmpty else {
            throw Failure(
                .usage, "HOME is not set, so the service's user is not known; set it, or see hub service print")
        }
        return "\(home)/.config/systemd/user/\(name)"
    }

    /// The link by which the manager starts a unit that `systemctl enable` has enabled, such as that of the package.
    static func enabledPath(_ manager: Manager, environment: [String: String]) throws(Failure) -> String {
        let folder = URL(filePath: try path(manager, environment: environment)).deletingLastPathComponent()
        return folder.appending(path: "\(manager.target).wants/\(name)").path
    }

    /// The commands to type after the file has been written.
    var steps: [String] {
        switch manager {
        case .user:
            [
                "systemctl --user daemon-reload", "systemctl --user enable --now hub",
                "loginctl enable-linger            # it runs also while you are not logged in",
                "journalctl --user -u hub -f",
            ]
        case .system:
            [
                "useradd --system --home-dir \(files.data) --shell /usr/sbin/nologin \(SystemdUnit.account)   # once",
                "systemctl daemon-reload", "systemctl enable --now hub", "journalctl -u hub -f",
            ]
        }
    }
}

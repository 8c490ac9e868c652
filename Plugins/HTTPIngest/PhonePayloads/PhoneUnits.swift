import Foundation
import Samples

/// Reads units as apps, phones and people write them, in any language.
enum PhoneUnits {
    /// The unit in the hub's grammar for a text and a type; `nil` if it does not have the type's dimension.
    ///
    /// The grammar takes precedence. A word for several units means the one that fits the type (`t` is an hour of sleep). A word
    /// for a count (`pas`, `lpm`) fits only types that are counted.
    static func unit(_ text: String, of type: HealthType) -> String? {
        let plain = cleaned(text)
        if let known = certain(plain) { return fits(known, type) ? known : nil }
        if plain.lowercased() == "mmol/l", type.id == .bloodGlucose { return "mmol<180.15588000005408>/L" }
        // In HealthKit the body mass index has no unit, but all other systems write this unit for the same number.
        if type.id == .bodyMassIndex, ["kg/m2", "kg/m²", "kg/m^2"].contains(plain.lowercased()) { return "count" }
        if fits(plain, type) { return plain }
        let words = candidates(plain).filter { fits($0, type) }
        guard let first = words.first else { return CountWords.unit(plain, of: type) }
        // If several different units fit, the meaning is unknown.
        let isOne = words.allSatisfy { (try? HealthUnit($0)) == (try? HealthUnit(first)) }
        return isOne ? (try? type.meant(by: first))?.description ?? first : nil
    }

    /// The unit for an unknown type: translates only unambiguous texts.
    static func unit(_ text: String) -> String {
        let plain = cleaned(text)
        return certain(plain) ?? (plain.hasPrefix("ml/") ? "mL/" + plain.dropFirst(3) : plain)
    }

    private static func fits(_ unit: String, _ type: HealthType) -> Bool {
        guard let own = type.healthUnit, !unit.isEmpty, let meant = try? type.meant(by: unit) else { return false }
        return meant.isCompatible(with: own) && !isPercentOfCount(unit, type)
    }

    /// Whether a percentage is given for a count.
    ///
    /// Both are plain numbers in the hub's grammar, but 120 % of steps is not a number of steps.
    static func isPercentOfCount(_ unit: String, _ type: HealthType) -> Bool { unit == "%" && type.unit == "count" }

    /// The text with plain spaces and degree signs, and without marks that control the direction of the text.
    private static func cleaned(_ text: String) -> String {
        var plain = String.UnicodeScalarView()
        for scalar in text.precomposedStringWithCanonicalMapping.unicodeScalars {
            switch scalar {
            case "\u{2103}": plain.append(contentsOf: "°C".unicodeScalars)
            case "\u{2109}": plain.append(contentsOf: "°F".unicodeScalars)
            case "\u{BA}", "\u{2DA}": plain.append("°")
            case "\u{2044}", "\u{2215}", "\u{FF0F}": plain.append("/")
            case "\u{FF05}", "\u{66A}": plain.append("%")
            case _ where scalar.properties.generalCategory == .format: continue
            case _ where scalar.properties.isWhitespace: plain.append(" ")
            default: plain.append(scalar)
            }
        }
        return String(plain).trimmed.replacing("\u{B0} ", with: "\u{B0}")
    }

    /// The units that a word may mean, in any case and language; each side of a quotient is read separately.
    private static func candidates(_ plain: String) -> [String] {
        let sides = plain.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard sides.count > 1 else { return atoms(plain) }
        let parts = sides.map(atoms)
        guard parts.count <= 3, parts.allSatisfy({ !$0.isEmpty }) else { return [] }
        return parts.dropFirst().reduce(parts[0]) { found, next in
            found.flatMap { left in next.map { "\(left)/\($0)" } }
        }
    }

    private static func atoms(_ word: String) -> [String] {
        let small = word.lowercased()
        var found: [String] = []
        for unit in [word, UnitHints.usual(word), UnitHints.usual(small)]
            + (translated[folded(word)] ?? [])
        {
            if let unit, (try? HealthUnit(unit)) != nil { found.append(unit) }
        }
        // Lower-casing would turn a large calorie into a small one.
        for plain in [small, folded(word)] where plain != "cal" && (try? HealthUnit(plain)) != nil {
            found.append(plain)
        }
        return found
    }

    static func folded(_ word: String) -> String {
        word.lowercased().filter { $0 != " " && $0 != "." }
    }

    /// The unit that a text means for every type.
    private static func certain(_ plain: String) -> String? { prefixed[plain] ?? UnitWords.spelling(of: plain) }

    /// Spellings that mean a different unit in the hub's grammar than on phones: `Mg` is a megagram in the grammar.
    private static let prefixed = [
        "Mg": "mg", "MG": "mg", "ML": "mL", "Ml": "mL", "MM": "mm", "Mm": "mm", "°С": "degC",
    ]

    private static let translated: [String: [String]] = {
        var units: [String: [String]] = [:]
        for line in table.split(separator: "\n") {
            let words = line.split(separator: " ").map(String.init)
            for word in words.dropFirst() { units[word, default: []].append(words[0]) }
        }
        return units
    }()

    /// Units with their abbreviations in the languages of phones: the short and narrow forms of the Unicode CLDR, versions 37 and 47.
    private static let table = """
        kg κιλά κιλό кг ק״ג كغ كغم کیلوگرم किग्रा कि॰ग्रा॰ กก 公斤 千克
        g gr γρ г גר׳ غ غرام غرامات غم گرم ग्रा ग्रा॰ ก 克
        mg мг מ״ג مغم میلیگرم मिग्रा मि॰ग्रा॰ มก 毫克
        mcg ug µg μg мкг מק״ג مكغم میکروگرم मा॰ग्रा॰ มคก 微克
        lb λβ фнт фунт фунта фунти фунтов фунтів ליבראות ליברה أرطال رطل پوند पौंड ปอนด์ 磅
        km χλμ км ק״מ كم کیلومتر किमी कि॰मी॰ กม 公里
        m μ м מ׳ מ′ أمتار م متر मी ม 公尺 米
        cm εκ см ס"מ ס״מ سانت سانتیمتر سم सें॰मी॰ ซม 公分 厘米
        mm χλστ мм מ״מ מ″מ مم میلیمتر मिमी मि॰मी॰ มม 公釐 毫米
        mi dặm μίλ ми мили миль миля милі миља миље מייל أميال مایل ميل मील ไมล์ マイル 哩 英里
        ft πδ фт фут фута фути футов футів רגל أقدام فوت قدم फ़ीट ฟุต 呎 英尺
        in ίν дюйм дюйма дюйми дюймов дюймів инч инча אינץ׳ اینچ بوصات بوصة इंच นิ้ว 吋 英寸
        kcal kkal θερμ ккал קק״ל קלו׳ سع كسع كسعرة کالری ککالری कै कैलोरी กิโลแคลอรี กแคลอรี แคลอรี 千卡 大卡
        kJ кдж كجول کژول कि॰जू॰ กิโลจูล 千焦 千焦耳
        hr h giờ godz hrs j ore oră sa saat sat sata sati st std t tim tiếng u uur val ó č ώ ώρ ώρα г год сат сата сати сағ ч שעה שע׳ س ساعت घं घं॰ ชม 小时 小時 時間 시간
        min d dk mins mnt p phút perc λ λεπ λεπτό м мин х хв ד׳ דק׳ דקה د دقيقة دقیقه मि मि॰ मिनट นาที 分 分鐘 分钟 분
        s dtk giây mp saat sec secs seg sek sn δ δευτ с сек שנ׳ ث ثانیه से से॰ วิ 秒 초
        L λ λίτ л ל׳ ل لتر لترات لیتر ली ली॰ ล ℓ 升
        dL dl дл דצ״ל ดล
        mL мл מ״ל ملتر میلیلیتر मिली मि॰ली॰ มล 毫升
        mmHg hgmm ммрс ммртст ммсб ملمزئبقي ممجیوه มมปรอท 毫米汞柱
        mmol ммоль ممول มลม 毫摩尔 毫摩爾 毫莫耳
        W вт وات واط वॉ वัตต์ 瓦 瓦特
        degC °с °م °से °से॰ 摄氏度 攝氏度 c
        degF °ف °फ °फ़ेरन °फॅ 华氏度 華氏度 f
        """

    /// The words for a minute.
    static let minutes = Set(translated.filter { $0.value.contains("min") }.keys).union([
        "min", "minute", "minuten", "minuut", "minuto", "minut", "minuta", "minutu", "minutę", "minutt", "minutti",
        "minuutti",
        "minuuttia", "menit", "minit", "dakika", "λεπτά", "минута", "минуту", "хвилину", "минуте",
    ])
}

/// Words for things that are only counted.
///
/// Apps label a count with the phone's word for the counted thing. The CLDR has no list of these words, so this one covers the languages of
/// iOS and Android, for steps, beats, breaths, floors, strokes and times.
enum CountWords {
    /// `count` or `count/min` if the type has this unit and the text is a word for it.
    static func unit(_ text: String, of type: HealthType) -> String? {
        let word = PhoneUnits.folded(text)
        switch type.unit {
        case "count": return words.contains(word) ? "count" : nil
        case "count/min": return rates.contains(word) || isRate(text.lowercased()) ? "count/min" : nil
        default: return nil
        }
    }

    /// Whether the text is a rate: `Schläge/min`, `battements par minute`, `1/min`.
    private static func isRate(_ text: String) -> Bool {
        let parts = text.split { $0 == "/" || $0 == " " }.map { PhoneUnits.folded(String($0)) }
            .filter { !per.contains($0) }
        guard let last = parts.last, PhoneUnits.minutes.contains(last) else { return false }
        return parts.count == 1 ? text.hasPrefix("/") : parts.dropLast().allSatisfy { words.contains($0) || $0 == "1" }
    }

    private static func set(_ text: String) -> Set<String> {
        Set(text.split(whereSeparator: \.isWhitespace).map(String.init))
    }

    private static let per = set(
        "per pro par por al a na za w в за i om par prin pe po kohti ανά לכל trên mỗi kohden ต่อ प्रति în")

    private static let rates = set(
        """
        bpm lpm ppm spm dpm ipm rpm irpm brpm cpm hpm opm 次每分 次每分钟 次每分鐘 毎分 分당 분당 분당회 ครั้งต่อนาที बीपीएम פעימותלדקה
        tepůzaminutu уд/мин
        """)

    private static let words = set(
        """
        count counts # x times time step steps beat beats breath breaths floor floors flight flights push pushes stroke strokes
        drink drinks fall falls event events rev revs revolutions puff puffs hits
        pas étages étage fois nombre coups coup battements battement bat batt poussées mouvements verres respirations respiration
        resp chutes décompte marches montées
        schritte schritt anzahl mal schläge schlag stockwerke stockwerk etagen etage stufen züge zug atemzüge atemzug stöße stürze
        drinks getränke treppen
        pasos paso recuento número numero veces vez latidos latido pulsaciones pulsación puls pisos piso plantas planta brazadas
        brazada impulsos caídas bebidas lat respiraciones conteo
        passi passo conteggio volte volta battiti battito piani piano bracciate bracciata spinte respiri respiro atti cadute bevande
        passos contagem batimentos batimento andares andar lances braçadas impulsos respirações quedas contagens
        stappen stap aantal keer slagen slag verdiepingen verdieping trappen ademhalingen
        steg antal gånger slag trappor våningar andetag simtag
        skridt gange slag etager åndedrag antall skritt ganger etasjer
        askel askelta askeleet määrä kertaa lyöntiä iskua kerrosta kerrokset hengitystä kpl
        kroki kroków krok krokow liczba razy raz uderzeń uderzenia ud piętra piętro pięter oddechów oddechy
        kroky kroků kroku počet krát tepů tepy tep úderů údery patra pater dechů vdechů
        krokov počet krát úderov tepov poschodia poschodí dychov
        lépés lépések szám darab db alkalom ütés szívverés emelet légzés
        pași pasi număr ori bătăi bătaie etaje respirații
        koraci koraka koraka broj puta otkucaja otkucaji katova katovi udisaja udaha korakov koraki število
        кораци корака број пута откуцаја стъпки стъпка брой пъти удара удари етажа етажи
        шаги шаг шагов шага количество кол-во число раз уд ударов удара удары этажи этаж этажей этажа вдохов дых
        кроки крок кроків кроку кількість разів ударів удари поверхи поверхів поверх подихів
        βήματα βήμα αριθμός πλήθος φορές παλμοί παλμός χτύποι σφυγμοί όροφοι όροφος ορόφους αναπνοές
        adım adim sayı adet kez defa atım atış vuruş vuru nabız kat katlar nefes
        خطوة خطوات خطوه عدد العدد مرة مرات نبضة نبضات ن طابق طوابق نفس
        צעד צעדים מספר פעמים פעימות פעימה קומות קומה נשימות
        قدم گام قدمها تعداد بار مرتبه ضربان ضربه طبقه تنفس
        कदम क़दम गिनती संख्या बार धड़कन मंज़िल मंजिल स्पंदन
        ก้าว จำนวน ครั้ง ชั้น
        bước sốbước sốlượng lần nhịp tầng
        langkah hitungan jumlah kali denyut denyutan detak lantai tingkat napas
        歩 歩数 回 回数 拍 階
        步 步数 步數 次 次数 次數 计数 計數 下 层 層 楼层 樓層 拍
        걸음 걸음수 보 회 횟수 박동 층 개수
        passes passa passades comptatge vegades batecs pisos
        sammu samm korda žingsniai žingsnių kartų soļi reizes
        """)
}

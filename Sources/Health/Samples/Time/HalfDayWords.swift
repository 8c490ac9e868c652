/// The words for the two halves of the day on a twelve-hour clock, in every language of the Unicode CLDR.
///
/// The words are the abbreviated and wide forms of `dayPeriods` of versions 37 to 47, folded by ``folded(_:)``. `ip`, `md` and `ut` mean
/// different halves in two languages each. They are read as Finnish, Albanian and Embu, because phones are not set to the other languages.
/// The last lines of each list contain parts of the day that lie in one half.
package enum HalfDayWords {
    /// Whether a word means the second half of the day; `nil` if it means neither at this hour, from 0 to 12.
    package static func isAfternoon(_ word: some StringProtocol, at hour: Int) -> Bool? {
        let word = folded(word)
        if word == "中午" { return [12, 1].contains(hour) ? true : nil }
        return hour == 12 && notAtTwelve.contains(word) ? nil : halves[word]
    }

    /// `m`, which is noon in Spanish and midnight in Gaelic, and words for the evening, which never mean noon.
    private static let notAtTwelve: Set = [
        "m", "晚上", "傍晚", "저녁", "delanoche", "danoite", "вечера", "wieczorem", "večer", "abends", "dusoir", "akşam",
    ]

    /// Keeps letters, marks and digits in lower case, because phones differ in points and spaces (`a. m.`, `a.m.`, `am`).
    private static func folded(_ word: some StringProtocol) -> String {
        var text = String.UnicodeScalarView()
        for scalar in word.lowercased().unicodeScalars {
            switch scalar.properties.generalCategory {
            case .lowercaseLetter, .uppercaseLetter, .titlecaseLetter, .modifierLetter, .otherLetter, .nonspacingMark,
                .spacingMark, .enclosingMark, .decimalNumber, .letterNumber, .otherNumber:
                text.append(scalar)
            default: continue
            }
        }
        // Strings with the same letters are equal, even if the letters are composed differently.
        return String(text)
    }

    private static let halves: [String: Bool] = {
        var halves: [String: Bool] = [:]
        for (words, isAfternoon) in [(morning, false), (afternoon, true)] {
            for word in words.split(whereSeparator: \.isWhitespace) { halves[String(word)] = isAfternoon }
        }
        return halves
    }()

    private static let morning = """
        a adduha ag am amvormittag an ankstāinan antemidí ap aqʼabʼil atm banhaet bn braxkndaax comme damanhã de
        delamañana delmatin dinda dop dopoldne dopołdnja dopołedniŏ eparadites eqʼ fh fm formiddag ft förmiddag
        fọmọ́nin gh goöň göň günortadanöň hengihengi hh hoseng iarmade ib ibikɛ̂glà icheheavo idiɓa im isuk
        iđitbeaivet iđitbeaivi kangama karoon ki kiroko kiɛmɛ́ɛm krn kíkíríg kĩroko lb leebi lumalwak lwamilawu
        m ma makeo mambia manhã maná mat matin mañana mbaʼámbaʼ mbaꞌmbaꞌ mesong moies muhi munkyo nd ntufat
        ntɔ́ngɔ́ nụtụtụ od opensuno pagisiang pamilau paradite pd pg pgsg piopensuno prepodne priekšp
        priekšpusdiena priekšpusdienā priešpiet prijepodne prīškpušdīnē rn rw rũ sa saaku safiya sf sokallim
        soodo sub subaka subbaahi sárúwá taparachu tesiran tifawt to too uhrvörmiddaachs ulloqeqqatatungaa
        uluchelo utuko vaasisu vm vorm vormittag vörmeddaach wd wichishu yb zdatazal zmu àárɔ̀ àárọ̀ ç̌um
        ç̌umaneri öö ĩyakwakya ŋdi ǁgoagas ɛnkakɛnyá ʊshilèkʊboɖu πμ ϧⲙ ам апоўначы дп ку обедтэикеле преподне
        претпл претпладне пријеподне проб таңкы то тң эи үө ӕмбисбоныразмӕ לפ לפנהצ פֿאַרמיטאָג اےایم بن تد ص
        صباحا صباحًا صبح صبحمنجهند عم غم قبلازظهر قظ پظ پیشزظهر چب چۈشتىنبۇرۇن ܩܛ ߛ एएम तडके दुपहरब्रोंठ पू
        पूर्वाह्न फुं भोर भ्यागा मंझंदिकापहिंरो मपू येएम सकाळ सकाळीं सबेरे सवेर सुबुहजा এএম নুমাং পূৰ্বাহ্ন ਪੂਦੁ
        ଏଏମ ପୂର୍ବାହ୍ନ முற்பகல் ఎఎమ్ ಪೂರ್ವಾಹ್ನ පෙව ก่อนเที่ยง ກ່ອນທ່ຽງ སྔཆ སྔདྲོ တွၼ်ႈၸဝ်ႉ တၸ နံနက် ማለዶ ቀደምሰርምዕል
        ቅቀ ንጉሆሰዓተ ጥዋት ጽባሕ ፋዱስጃብ ᐁᒼ ᐊᒼ ᠦᠥ ᱥᱤᱧᱥᱮᱛᱟᱜ ᱥᱮᱛᱟᱜ ⵜⵉⴼⴰⵡⵜ 上午 上昼 上晝 午前 ꎸꄑ ꮜꮎꮄ 오전 𐐰𐑋 𐑨𐑥 𞤢𞤰
        morgens vormittags dumatin delamadrugada damadrugada rano dorána ráno утра ночи sabah 凌晨 清晨 早上 早晨 새벽 아침
        """
    private static let afternoon = """
        ak akasuba aluula amnamittag anw banringzgvaq baubaukndaax carra ch chilo cɛɛ́nko datarde delatarde
        desira dilolo du ea eahketbeaivet eahketbeaivi eb ebongi ebyámu efiafi eftermade eftermiddag eh eigulo
        em ep epasdites ettermiddag ew f fi fọívnin gd gm gosoň gsoň günortadansoň hawwaro hwaĩinĩ ichamthi in
        ip iɓugajɔp kbʼeqʼij kikiiɗe kingoto kisɛ́ndɛ koosk kooskoliny kugú kyiukonyi lilli lk lumalwap
        makaaripi mchochill md mo mog mpókwa muu nabali nabalị nam namittag ncwònzém ngo ngəgógəle nm
        nommendaach nomëttes ntmeddit nyiaghuo odp ondğ ondğeri ot p pamunyi papussideinan pasdite pashamihe
        piecpušdīnē pinisuno pipinisuno pm pn pop popiet popodne popoldne popołdnju popołedniu posmidí ptg ptm
        pēcp pēcpusd pēcpusdiena pēcpusdienā sanje shwane sn soir sorémalem srmlm tadggʷat tarde teipa thapama
        tk tŋ uhrnommendaachs uk ulloqeqqatakingorna ut wb wengi wótp wótpołdnja yamma yh ym zaarikayb zd zmw ös
        ĩyawĩoo ŋkambɔ́tnji ũg ǃuias ɔ̀sán ɛndámâ ɣetrɔ ʊshilèkʊsasʊ μμ апоўдні кх обедтэмейле пм попл попладне
        поподне послијеподне пп слоб тк түштөнкийинки эк үх ӕмбисбоныфӕстӕ אח אחהצ נאָכמיטאָג بظ بعدازظهر
        بعدزظهر تك دن شام شاممنجهند غو م مساء مساءً منجهندشام پیایم پیپی چك چۈشتىنكېيىن ܒܛ ߥ अ अपराह्न
        दपेहरासंजा दपैहरबाद दुपहरपतॖ पीएम बेलासे मंझंदिकोपोए मउ शामजा सञ सांज सांजे सांझ सांम অপৰাহ্ন পিএম ਬਾਦੁ
        ଅପରାହ୍ନ ପିଏମ பிற்பகல் పిఎమ్ ಅಪರಾಹ್ನ පව หลังเที่ยง ຫຼັງທ່ຽງ ཕྱིཆ ཕྱིདྲོ ညနေ တလ တွၼ်ႈလႃႈ ሓቆስርምዕል ምሴት ቃማ
        ከሰዓት ድሕርሰዓት ድቀ ፋዱስደምቢ ᐲᒼ ᠦᠬᠣ ᱟᱹᱭᱩᱵᱧᱤᱫᱟ ᱧᱤᱫᱟᱹ ḍeffiraza ọ̀sán ⲙⲙ ⵜⴰⴷⴳⴳⵯⴰⵜ 下午 下昼 下晝 午後 ꁯꋒ ꮢꭿᏹꭲ ꮢꭿᏹꭲꮧꮲ 오후
        𐐹𐑋 𐑐𐑥 𞤩𞤰
        nachm nachmittags abends dusoir delaprèsmidi delanoche danoite popołudniu popoludní popoludni wieczorem večer
        öğledensonra akşam дня вечера 晚上 傍晚 저녁
        """
}

/// A row of the vendor's error enumerations.
struct ScaleErrorRow: Sendable {
    let code: Int
    /// The vendor's name in its spelling.
    let name: String
    let errorClass: ScaleErrorClass
    /// Without the model's name.
    let sentence: String

    private init(_ code: Int, _ name: String, _ errorClass: ScaleErrorClass, _ sentence: String) {
        (self.code, self.name, self.errorClass, self.sentence) = (code, name, errorClass, sentence)
    }

    static func all(of model: ScaleModel) -> [ScaleErrorRow] {
        switch model {
        case .hs3: hs3
        case .hs4: hs4
        case .hs5: hs5
        }
    }

    private static let hs3 = [
        ScaleErrorRow(1, "HS3DeviceLowPower", .device, "the battery is low; replace it (Lo)"),
        ScaleErrorRow(
            2, "HS3DeviceEr2", .measurement, "more than the scale can weigh, 150 kg; the weighing is discarded (Er2)"),
        ScaleErrorRow(3, "HS3DeviceEr4", .device, "the scale is out of calibration and needs service (Er4)"),
        ScaleErrorRow(4, "HS3DeviceEr7", .measurement, "stand still, movement while measuring (Er7)"),
        ScaleErrorRow(5, "HS3DataZeor", .information, "the scale has no stored weighings"),
        ScaleErrorRow(6, "HS3DeviceDisconnect", .link, "the scale has gone; it is awaited again"),
        ScaleErrorRow(7, "HS3DeviceSendTimeout", .link, "the scale does not answer; the connection is made again"),
        ScaleErrorRow(111, "HS3UserInvalidate", .authorisation, "this person may not use the scale"),
    ]

    private static let hs4 = [
        ScaleErrorRow(1, "HS4DeviceLowPower", .device, "the battery is low; replace it (Lo)"),
        ScaleErrorRow(2, "HS4DeviceEr0", .device, "the scale could not start; take its batteries out and in (Er0)"),
        ScaleErrorRow(
            3, "HS4DeviceEr1", .measurement, "more than the scale can weigh, 180 kg; the weighing is discarded (Er1)"),
        ScaleErrorRow(4, "HS4DeviceEr2", .measurement, "no steady reading; stand still and weigh again (Er2)"),
        ScaleErrorRow(5, "HS4DeviceEr4", .link, "the Bluetooth connection failed; it is made again (Er4)"),
        ScaleErrorRow(6, "HS4DeviceEr7", .measurement, "stand still, movement while measuring (Er7)"),
        ScaleErrorRow(7, "HS4DeviceEr8", .measurement, "the weighing is not valid; weigh again (Er8)"),
        ScaleErrorRow(8, "HS4DeviceEr9", .device, "the scale cannot read its memory (Er9)"),
        ScaleErrorRow(9, "HS4DataZeor", .information, "the scale has no stored weighings"),
        ScaleErrorRow(10, "HS4DeviceDisconnect", .link, "the scale has gone; it is awaited again"),
        ScaleErrorRow(11, "HS4DeviceSendTimeout", .link, "the scale does not answer; the connection is made again"),
        ScaleErrorRow(12, "HS4DeviceRecWeightError", .measurement, "a weight came that cannot be; weigh again"),
        ScaleErrorRow(111, "HS4UserInvalidate", .authorisation, "this person may not use the scale"),
    ]

    private static let hs5 = [
        ScaleErrorRow(0, "IHSCOverTimeError", .link, "the scale does not answer; it is asked again"),
        ScaleErrorRow(5, "IHSCUserInScale", .userManagement, "a user is at this position already"),
        ScaleErrorRow(6, "IHSCLowPower", .device, "check the batteries; replace them if this comes again (Lo)"),
        ScaleErrorRow(
            7, "IHSCScaleEr0", .device, "take the batteries out, wait a minute and put them in again (Er0)"),
        ScaleErrorRow(
            8, "IHSCScaleEr1", .measurement, "more than the scale can weigh, 150 kg; the weighing is discarded (Er1)"),
        ScaleErrorRow(
            9, "IHSCScaleEr2", .measurement, "stand still with bare feet on all four electrodes (Er2)"),
        ScaleErrorRow(10, "IHSCScaleEr7", .link, "the scale could not communicate; weigh again (Er7)"),
        ScaleErrorRow(11, "IHSCScaleEr8", .link, "the scale could not communicate; weigh again (Er8)"),
        ScaleErrorRow(12, "IHSCScaleEr9", .link, "the scale could not communicate; weigh again (Er9)"),
        ScaleErrorRow(13, "IHScaleBusy", .busy, "the scale is busy; it is asked again"),
        ScaleErrorRow(14, "HS5DataZeor", .information, "the scale has no stored weighings"),
        ScaleErrorRow(15, "IHSCScaleCreateUserTestError", .userManagement, "the scale could not create the user"),
        ScaleErrorRow(16, "HS5Disconnect", .link, "the scale has gone; it is searched for again"),
        ScaleErrorRow(111, "HS5UserInvalidate", .authorisation, "this person may not use the scale"),
    ]
}

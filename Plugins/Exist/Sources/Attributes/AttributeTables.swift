/// Exist's attributes as tables: group, name, type, then the hub's type and series, Exist's unit (`-`: the hub's), decimals.
enum AttributeTables {
    /// The 86 templates as of 2025-12; lines without a second half are templates for which the hub has no days.
    static let templates = """
        activity steps i stepCount sum count 0
        activity steps_active_min min appleExerciseTime sum min 0
        activity steps_elevation d hc.elevationGained sum km 3
        activity floors i flightsClimbed sum count 0
        activity steps_distance d distanceWalkingRunning sum km 3
        activity stand_hours i
        activity cycle_min min
        activity cycle_distance d distanceCycling sum km 3
        activity active_energy d activeEnergyBurned sum kJ 1
        workouts workouts i
        workouts workouts_min min
        workouts workouts_distance d
        productivity productive_min min
        productivity neutral_min min
        productivity distracting_min min
        productivity commits i
        productivity tasks_completed i
        productivity words_written i
        productivity emails_sent i
        productivity emails_received i
        productivity pomodoros_min min
        productivity keystrokes i
        food coffees i
        food alcoholic_drinks i numberOfAlcoholicBeverages sum count 0
        food energy d dietaryEnergyConsumed sum kJ 1
        food water i dietaryWater sum mL 0
        food carbohydrates d dietaryCarbohydrates sum g 2
        food fat d dietaryFatTotal sum g 2
        food fibre d dietaryFiber sum g 2
        food protein d dietaryProtein sum g 2
        food sugar d dietarySugar sum g 2
        food sodium d dietarySodium sum mg 2
        food cholesterol d dietaryCholesterol sum mg 2
        food caffeine d dietaryCaffeine sum mg 2
        finance money_spent d
        mood mood 1-9
        mood mood_note s
        mood energy_level 1-9
        mood stress_level 1-9
        sleep sleep min
        sleep time_in_bed min
        sleep sleep_light min
        sleep sleep_deep min
        sleep sleep_rem min
        sleep sleep_start tod12
        sleep sleep_end tod
        sleep sleep_awakenings i
        events events i
        events events_duration min
        health weight d weight mean30 kg 2
        health body_fat % bodyFatPercentage mean30 - 4
        health lean_mass d leanBodyMass mean30 kg 2
        health heartrate i heartRate weightedMean count/min 0
        health heartrate_max i heartRate maximum count/min 0
        health heartrate_variability i heartRateVariabilitySDNN mean ms 0
        health heartrate_resting i restingHeartRate weightedMean count/min 0
        health meditation_min min
        health menstrual_flow i
        health sexual_activity i
        location checkins i
        location location s
        media tracks i
        media articles_read i
        media pages_read i
        media mobile_screen_min min
        media gaming_min min
        media tv_min min
        media movies_min min
        social facebook_posts i
        social facebook_comments i
        social facebook_reactions i
        social mastodon_posts i
        social mastodon_replies i
        social mastodon_boosts i
        social mastodon_favourites i
        twitter tweets i
        twitter twitter_mentions i
        twitter twitter_username s
        weather weather_temp_max d
        weather weather_temp_min d
        weather weather_precipitation d
        weather weather_cloud_cover %
        weather weather_wind_speed d
        weather weather_summary s
        weather weather_icon s
        weather day_length min
        """

    /// Values for which Exist has no template: the plugin creates them as custom attributes with these labels.
    static let customs = """
        health systolic i bloodPressureSystolic mean mmHg 0 | Systolic
        health diastolic i bloodPressureDiastolic mean mmHg 0 | Diastolic
        health blood_glucose_mgdl d bloodGlucose mean mg/dL 1 | Blood glucose mgdL
        health blood_oxygen % oxygenSaturation mean - 4 | Blood oxygen
        health body_temperature_c d bodyTemperature mean degC 2 | Body temperature C
        health respiratory_rate d respiratoryRate mean count/min 1 | Respiratory rate
        health vo2_max d vo2Max mean mL/kg·min 2 | VO2 max
        health body_mass_index d bodyMassIndex mean30 count 2 | Body mass index
        health height_cm d height mean30 cm 1 | Height cm
        health waist_cm d waistCircumference mean30 cm 1 | Waist cm
        health bone_mass_kg d hc.boneMass mean30 kg 2 | Bone mass kg
        health body_water_kg d hc.bodyWaterMass mean30 kg 2 | Body water kg
        activity basal_energy_kj d basalEnergyBurned sum kJ 1 | Basal energy kJ
        activity swimming_m d distanceSwimming sum m 0 | Swimming m
        """
}

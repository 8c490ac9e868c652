#!/usr/bin/env ruby
# The plugin @NAME@ of a health hub: gives @TYPE@ from a text file. README.md describes the file.
#
# The program keeps no state between starts: the hub answers `duplicate` for records that it already has.
require_relative "health_hub"

MANIFEST = {
  "name" => "@NAME@", "summary" => "Gives @TYPE@ from a text file.", "version" => "1.0", "writes" => ["@TYPE@"],
  "checksSettings" => true,
  "settings" => [
    { "name" => "file", "type" => "path", "required" => true, "help" => "The readings, a line for each: @LINE@." },
    { "name" => "every", "type" => "integer", "minimum" => 1, "maximum" => 3600, "default" => 5,
      "help" => "Seconds from one look at the file to the next." }
  ]
}.freeze

OBJECTIONS = lambda do |settings|
  next [] unless File.directory?(settings["file"])
  [{ "setting" => "file", "reason" => "this is a folder; name the file with the readings" }]
end

# The record of a line, or nil. Its key is its time, so a line that is read again is the same record.
def record(line)
  start, *last, value = line.split
  return nil if value.nil? || last.size > 1
@quantity|  return nil unless value.match?(/\A-?[0-9]{1,15}([.][0-9]{1,15})?\z/)
@quantity|  made = { "type" => "@TYPE@", "value" => value.to_f, "unit" => "@UNIT@", "start" => start, "key" => start }
@category|  made = { "type" => "@TYPE@", "value" => value, "start" => start, "key" => start }
  made["end"] = last[0] unless last.empty?
  made
end

# Records of the file behind byte `place`, and the place to continue from: the whole lines of the next 64 KiB.
def look(path, place)
  data = ""
  File.open(path, "rb") do |file|
    place = 0 if file.size < place # the file was rewritten from its beginning
    file.seek(place)
    data = file.read(65_536) || ""
  end
  size = (data.rindex("\n") || -1) + 1 # an unfinished line waits
  size = data.bytesize if size.zero? && data.bytesize == 65_536 # never a reading
  start = place
  records = data.byteslice(0, size).b.lines.map do |bytes|
    (at, start) = start, start + bytes.bytesize
    line = bytes.force_encoding("UTF-8").scrub
    next if line.strip.empty?
    record(line) || warn("the line at byte #{at} is left out: it is not a reading")
  end
  [records.compact, place + size]
rescue Errno::ENOENT
  [[], 0]
end

code = HealthHub.plugin(MANIFEST, OBJECTIONS) do |hub|
  settings, place, pause = hub.welcome["settings"], 0, 0
  while hub.serve(pause)
    records, following = look(settings["file"], place)
    records.zip(hub.give(records)) do |given, result| # give returns when the hub has them on its disk
      # Never log a person's values.
      warn "#{given["key"]}: #{result["reason"]}" if result["result"] == "rejected"
    end
    pause = following == place ? settings["every"] : 0
    place = following
  end
end
exit code

package writ.cel_test

import data.writ.cel

_never := cel.timestamp("9999-12-31T23:59:59.999999999Z")

_second := {["duration", 1000000000]}

test_times[note] if {
	some note, row in {
		"an offset": [cel.as_json(cel.timestamp("2024-02-29T10:30:00.5+02:00")), "2024-02-29T08:30:00.5Z"],
		"no leap year": [cel.timestamp("2100-02-29T00:00:00Z"), cel.error],
		"small letters": [cel.timestamp("2024-01-01t00:00:00Z"), cel.error],
		"a leap second": [cel.timestamp("2016-12-31T23:59:60Z"), cel.error],
		"year 0": [cel.timestamp("0000-01-01T00:00:00Z"), cel.error],
		"seconds since 1970": [cel.timestamp(-1), cel.timestamp("1969-12-31T23:59:59Z")],
		"a timestamp": [cel.timestamp({["timestamp", 1]}), {["timestamp", 1]}],
		"after the end": [cel.add(_never, _second), cel.error],
		"the end": [cel.as_json(_never), "9999-12-31T23:59:59.999999999Z"],
		"between": [cel.subtract(cel.timestamp("2024-01-01T00:00:01Z"), cel.timestamp("2024-01-01T00:00:00Z")), _second],
		"too long between": [cel.subtract(_never, cel.timestamp(0)), cel.error],
		"a duration": [cel.as_json(cel.duration("-1h30m0.25s")), "-5400.25s"],
		"no unit": [cel.duration("1"), cel.error],
		"days": [cel.duration("1d"), cel.error],
		"too long": [cel.duration("9999999h"), cel.error],
		"a duration and a time": [cel.add(_second, cel.timestamp(0)), cel.timestamp(1)],
		"a time and a time": [cel.add(cel.timestamp(0), cel.timestamp(0)), cel.error],
	}
	row[0] == row[1]
}

test_parts_of_time[part] if {
	time := cel.timestamp("1969-12-31T23:59:58.25Z")
	some part, want in {
		"year": [1969, 1970],
		"month": [11, 0],
		"date": [31, 1],
		"day": [30, 0],
		"day_of_year": [364, 0],
		"day_of_week": [3, 4],
		"hours": [23, 0],
		"minutes": [59, 29],
		"seconds": [58, 58],
		"milliseconds": [250, 250],
	}
	want == [cel.part_of_time(time, part, 0), cel.part_of_time(time, part, 1800)]
}

# A zone reaches the last day of the year before the first one, which is a leap year.
test_parts_of_the_year_zero if {
	time := cel.timestamp("0001-01-01T00:00:00Z")
	[cel.part_of_time(time, part, -3600) | some part in ["year", "month", "date", "day_of_year"]] == [0, 11, 31, 365]
}

test_parts_of_a_duration if {
	cel.part_of_time(cel.duration("-90m"), "hours", 0) == -1
	cel.part_of_time(cel.duration("90m"), "seconds", 0) == 5400
	cel.part_of_time(cel.duration("90m"), "year", 0) == cel.error
	cel.part_of_time("90m", "hours", 0) == cel.error
}

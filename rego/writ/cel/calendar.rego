package writ.cel

# The days from 1970 to a day, counted in years that begin with March.
_days(year, month, day) := ((era * 146097) + in_era) - 719468 if {
	shifted := year - floor((14 - month) / 12)
	era := _whole_part(shifted, 400) # floor of a number between -1 and 0 is 0 in OPA
	of_era := shifted - (era * 400)
	of_year := (floor(((153 * ((month + 9) % 12)) + 2) / 5) + day) - 1
	in_era := (((of_era * 365) + floor(of_era / 4)) - floor(of_era / 100)) + of_year
}

_length(year, month) := _days(year + floor(month / 12), (month % 12) + 1, 1) - _days(year, month, 1)

# The year, month and day that a number of days from 1970 comes to.
_date(days) := [(of_era + (era * 400)) + floor((12 - month) / 10), month, day] if {
	shifted := days + 719468
	era := floor(shifted / 146097)
	in_era := shifted - (era * 146097)
	of_era := floor((((in_era - floor(in_era / 1460)) + floor(in_era / 36524)) - floor(in_era / 146096)) / 365)
	of_year := in_era - (((365 * of_era) + floor(of_era / 4)) - floor(of_era / 100))
	from_march := floor(((5 * of_year) + 2) / 153)
	day := (of_year - floor(((153 * from_march) + 2) / 5)) + 1
	month := ((from_march + 2) % 12) + 1
}

# Division towards the smaller. OPA divides with 64 bits, which is exact only where
# nothing is left over.
_whole_part(number, unit) := (number - (((number % unit) + unit) % unit)) / unit

# METADATA
# description: |
#   A part of a timestamp in a zone so many seconds east of UTC, or of a duration, as
#   value.getHours() and the like have it.
part_of_time(value, part, east) := _part(part, _whole_part(local, 86400 * _second), local) if {
	local := _tagged(value, "timestamp") + (east * _second)
} else := _cut(_tagged(value, "duration") / (_units[part] * 1000000)) if {
	_tagged(value, "duration")
	_units[part]
} else := _failure([value])

_units := {"hours": 3600000, "minutes": 60000, "seconds": 1000, "milliseconds": 1}

_part("year", days, _) := _date(days)[0]

_part("month", days, _) := _date(days)[1] - 1

_part("date", days, _) := _date(days)[2]

_part("day", days, _) := _date(days)[2] - 1

_part("day_of_year", days, _) := days - _days(_date(days)[0], 1, 1)

_part("day_of_week", days, _) := (((days + 4) % 7) + 7) % 7

_part("hours", days, local) := _whole_part(local - ((days * 86400) * _second), 3600 * _second)

_part("minutes", _, local) := _whole_part(local, 60 * _second) - (_whole_part(local, 3600 * _second) * 60)

_part("seconds", _, local) := _whole_part(local, _second) - (_whole_part(local, 60 * _second) * 60)

_part("milliseconds", _, local) := _whole_part(local, 1000000) - (_whole_part(local, _second) * 1000)

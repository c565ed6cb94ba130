package dates

import (
	"math"
	"testing"
	"time"
)

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"2026-03-01T10:00:00Z":                "2026-03-01T10:00:00Z",
		"2026-03-01T11:00:00+01:00":           "2026-03-01T10:00:00Z",
		"2026-03-01T00:00:00-23:59":           "2026-03-01T23:59:00Z",
		"2026-03-01T10:00:00.120000000Z":      "2026-03-01T10:00:00.12Z",
		"2026-03-01T10:00:00.000000001Z":      "2026-03-01T10:00:00.000000001Z",
		"2028-02-29T00:00:00Z":                "2028-02-29T00:00:00Z",
		"0001-01-01T00:00:00Z":                "0001-01-01T00:00:00Z",
		"9999-12-31T23:59:59.999999999Z":      "9999-12-31T23:59:59.999999999Z",
		"0001-01-01T00:00:00+00:01":           "",
		"9999-12-31T23:59:59-00:01":           "",
		"0000-12-31T23:59:59Z":                "",
		"2026-02-29T00:00:00Z":                "",
		"2026-13-01T00:00:00Z":                "",
		"2026-03-00T00:00:00Z":                "",
		"2026-03-01T24:00:00Z":                "",
		"2026-03-01T10:00:60Z":                "",
		"2026-03-01T10:60:00Z":                "",
		"2026-03-01T10:00:00+24:00":           "",
		"2026-03-01T10:00:00+01:60":           "",
		"2026-03-01T10:00:00+0100":            "",
		"2026-03-01T10:00:00+01":              "",
		"2026-03-01T10:00:00":                 "",
		"2026-03-01T10:00Z":                   "",
		"2026-03-01":                          "",
		"2026-03-01t10:00:00Z":                "",
		"2026-03-01T10:00:00z":                "",
		"2026-03-01 10:00:00Z":                "",
		"2026-03-01T10:00:00,5Z":              "",
		"2026-03-01T10:00:00.Z":               "",
		"2026-03-01T10:00:00.1234567890Z":     "",
		" 2026-03-01T10:00:00Z":               "",
		"2026-03-01T10:00:00Z ":               "",
		"2026-03-01T10:00:00Z\n":              "",
		"2026-3-1T10:00:00Z":                  "",
		"2026-03-01T1:00:00Z":                 "",
		"+2026-03-01T10:00:00Z":               "",
		"2026-03-01T10:00:00 UTC":             "",
		"2026-03-01T10:00:00 Europe/Berlin":   "",
		"2026-03-01T10:00:00CET":              "",
		"1772323200":                          "",
		"tomorrow":                            "",
		"":                                    "",
		"2026-03-01T10:00:00\u2212" + "01:00": "",
		"\u0662026-03-01T10:00:00Z":           "",
	} {
		at, err := Parse(text)
		if want == "" {
			if err == nil {
				t.Errorf("Parse(%q) = %s, want an error", text, Format(at))
			}
			continue
		}
		if err != nil || Format(at) != want {
			t.Errorf("Parse(%q) = %s, %v, want %s", text, Format(at), err, want)
		}
	}
}

// TestEnds wants times outside of the clock to be before or after every instant of it.
func TestEnds(t *testing.T) {
	at := func(text string) *time.Time {
		parsed, err := Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		return &parsed
	}
	early, middle, late := at("0001-01-01T00:00:00Z"), at("2026-03-01T10:00:00Z"), at("9999-12-31T23:59:59Z")
	if got := Of(*early); got != first {
		t.Errorf("Of(%s) = %d, want the first instant", early, got)
	}
	if got := Of(*late); got != last {
		t.Errorf("Of(%s) = %d, want the last instant", late, got)
	}
	everywhere := []Instant{first, 0, Of(*middle), last}
	for _, row := range []struct {
		name        string
		from, until *time.Time
		want        []bool // by everywhere
	}{
		{"no bounds", nil, nil, []bool{true, true, true, true}},
		{"begins before the clock", early, nil, []bool{true, true, true, true}},
		{"ends after the clock", nil, late, []bool{true, true, true, true}},
		{"begins after the clock", late, nil, []bool{false, false, false, false}},
		{"ends before the clock", nil, early, []bool{false, false, false, false}},
		{"from the middle", middle, late, []bool{false, false, true, true}},
		{"to the middle", early, middle, []bool{true, true, false, false}},
	} {
		p := Between(row.from, row.until)
		for i, instant := range everywhere {
			if got := p.Holds(instant); got != row.want[i] {
				t.Errorf("%s: Holds(%s) = %t, want %t", row.name, instant, got, row.want[i])
			}
		}
	}
}

func TestHolds(t *testing.T) {
	from, until := Instant(100), Instant(200)
	p := &Period{From: &from, Until: &until}
	for at, want := range map[Instant]string{
		99: "begins 1970-01-01T00:00:00.0000001Z", 100: "", 199: "", 200: "ended 1970-01-01T00:00:00.0000002Z",
		math.MinInt64: "begins 1970-01-01T00:00:00.0000001Z", math.MaxInt64: "ended 1970-01-01T00:00:00.0000002Z",
	} {
		if got := p.Status(at); got != want || p.Holds(at) != (want == "") {
			t.Errorf("at %d: Status = %q, Holds = %t, want %q", at, got, p.Holds(at), want)
		}
	}
}

func TestSpan(t *testing.T) {
	from, until := Instant(100), Instant(200)
	p := &Period{From: &from, Until: &until}
	for at, want := range map[Instant]Span{99: {nil, &from}, 100: {&from, &until}, 199: {&from, &until}, 200: {&until, nil}} {
		got := Span{}.Around(at, p)
		if !same(got.Begin, want.Begin) || !same(got.End, want.End) {
			t.Errorf("around %d: %v, want %v", at, got, want)
		}
		for _, other := range []Instant{first, 99, 100, 199, 200, last} {
			if inside := p.Holds(other) == p.Holds(at) && (other < 100) == (at < 100); got.Contains(other) != inside {
				t.Errorf("around %d: Contains(%d) = %t, want %t", at, other, !inside, inside)
			}
		}
	}
	if s := (Span{}); s.IsLimited() || !s.Contains(last) || !s.Contains(first) {
		t.Error("the span without bounds does not contain every instant")
	}
}

package visibility

import (
	"testing"
	"time"
)

func TestInstant(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // in UTC; empty: none
	}{
		{"plain", "2026-06-01T00:00:00Z", "2026-06-01T00:00:00Z"},
		{"an offset", "2026-06-01T00:00:00+02:00", "2026-05-31T22:00:00Z"},
		{"no offset known", "2026-06-01T00:00:00-00:00", "2026-06-01T00:00:00Z"},
		{"a fraction", "2026-06-01T00:00:00.5Z", "2026-06-01T00:00:00.5Z"},
		{"more than nanoseconds", "2026-06-01T00:00:00.1234567899Z", "2026-06-01T00:00:00.123456789Z"},
		{"small letters", "2026-06-01t00:00:00z", "2026-06-01T00:00:00Z"},
		{"beyond 64 bits of nanoseconds", "9999-12-31T23:59:59Z", "9999-12-31T23:59:59Z"},
		{"beyond the last year", "9999-12-31T23:59:59-01:00", "9999-12-31T23:59:59.999999999Z"},
		{"before the first year", "0000-01-01T00:00:00+01:00", "0000-01-01T00:00:00Z"},
		{"a leap day", "2024-02-29T00:00:00Z", "2024-02-29T00:00:00Z"},
		{"no leap day", "2025-02-29T00:00:00Z", ""},
		{"a date", "2026-06-01", ""},
		{"no zone", "2026-06-01T00:00:00", ""},
		{"a space", "2026-06-01 00:00:00Z", ""},
		{"month 13", "2026-13-01T00:00:00Z", ""},
		{"hour 24", "2026-06-01T24:00:00Z", ""},
		{"second 60", "2016-12-31T23:59:60Z", ""},
		{"an hour of one digit", "2026-06-01T0:00:00Z", ""},
		{"a comma", "2026-06-01T00:00:00,5Z", ""},
		{"an empty fraction", "2026-06-01T00:00:00.Z", ""},
		{"a far offset", "2026-06-01T00:00:00+24:00", ""},
		{"offset without a colon", "2026-06-01T00:00:00+0200", ""},
		{"blanks around", " 2026-06-01T00:00:00Z", ""},
		{"a trailing line end", "2026-06-01T00:00:00Z\n", ""},
		{"digits of another script", "２026-06-01T00:00:00Z", ""},
		{"a word", "soon", ""},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, ok := parseInstant(test.text)
			written := ""
			if ok {
				written = got.Format(time.RFC3339Nano)
			}
			if written != test.want {
				t.Errorf("got %q, want %q", written, test.want)
			}
		})
	}
}

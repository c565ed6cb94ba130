package golden

import "testing"

func TestFirstDifference(t *testing.T) {
	for _, row := range []struct {
		got, want string
		line      int
	}{
		{"", "", 0},
		{"a\nb\n", "a\nb\n", 0},
		{"a\nb\n", "a\nc\n", 2},
		{"a\n", "a", 2},
		{"a", "a\n", 2},
		{"", "a", 1},
	} {
		if line, _, _, differ := firstDifference([]byte(row.got), []byte(row.want)); line != row.line || differ != (row.line > 0) {
			t.Errorf("%q and %q: got line %d, %t, want %d", row.got, row.want, line, differ, row.line)
		}
	}
}

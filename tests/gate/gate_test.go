package gate

import (
	"slices"
	"testing"
)

func TestSome(t *testing.T) {
	rows := []int{0, 1, 2, 3, 4, 5, 6}
	for _, row := range []struct {
		form string
		want []int
	}{
		{"full", rows},
		{"", []int{0, 3, 6}},
	} {
		t.Setenv("GATE_TESTS", row.form)
		if got, want := Count(7, 3), len(row.want); got != want {
			t.Errorf("%q: got a count of %d, want %d", row.form, got, want)
		}
		if got := Some(rows, 3); !slices.Equal(got, row.want) {
			t.Errorf("%q: got %v, want %v", row.form, got, row.want)
		}
	}
}

func TestOnly(t *testing.T) {
	for form, isRun := range map[string]bool{"full": true, "": false} {
		t.Setenv("GATE_TESTS", form)
		ran := false
		t.Run(form, func(t *testing.T) {
			Only(t)
			ran = true
		})
		if ran != isRun {
			t.Errorf("%q: the test ran: %v, want %v", form, ran, isRun)
		}
	}
}

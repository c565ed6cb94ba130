package gate

import (
	"slices"
	"testing"
)

func TestEffort(t *testing.T) {
	rows := []int{0, 1, 2, 3, 4, 5, 6}
	for _, row := range []struct {
		effort string
		times  int
		some   []int
	}{
		{"", 3, []int{0, 3, 6}},
		{"1", 3, []int{0, 3, 6}},
		{"2", 6, rows},
		{"1000", 3000, rows},
	} {
		t.Setenv("EFFORT", row.effort)
		if got := Times(3); got != row.times {
			t.Errorf("EFFORT=%s: got %d times, want %d", row.effort, got, row.times)
		}
		if got := Some(rows, 3); !slices.Equal(got, row.some) {
			t.Errorf("EFFORT=%s: got %v, want %v", row.effort, got, row.some)
		}
		ran := false
		t.Run(row.effort, func(t *testing.T) {
			Only(t)
			ran = true
		})
		if want := len(row.some) == len(rows); ran != want {
			t.Errorf("EFFORT=%s: the test ran: %v, want %v", row.effort, ran, want)
		}
	}
}

func TestUnreadableNumbers(t *testing.T) {
	for _, text := range []string{"full", "0", "-1", "1.5"} {
		t.Setenv("EFFORT", text)
		func() {
			defer func() {
				if recover() == nil {
					t.Errorf("EFFORT=%s: got no panic", text)
				}
			}()
			Effort()
		}()
	}
}

func TestSeed(t *testing.T) {
	for text, want := range map[string]uint64{"": 1, "1795436992": 1795436992} {
		t.Setenv("SEED", text)
		if got := Seed(); got != want {
			t.Errorf("SEED=%s: got %d, want %d", text, got, want)
		}
	}
}

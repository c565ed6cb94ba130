package diag

import (
	"math/rand/v2"
	"testing"
)

func TestEdits(t *testing.T) {
	for _, row := range []struct {
		name, a, b string
		want       int
	}{
		{"equal", "kuadrant.io", "kuadrant.io", 0},
		{"case", "Kuadrant.IO", "kuadrant.io", 0},
		{"empty", "", "abc", 3},
		{"inserted", "kuadrantt.io", "kuadrant.io", 1},
		{"deleted", "kuadrnt.io", "kuadrant.io", 1},
		{"replaced", "kuadrent.io", "kuadrant.io", 1},
		{"swapped", "kuadratn.io", "kuadrant.io", 1},
		{"swapped twice", "kaudratn.io", "kuadrant.io", 2},
		{"a character between swapped ones", "ab", "bxa", 2},
		{"a group of others", "gateway.networking.x-k8s.io", "gateway.networking.k8s.io", 2},
		{"not ASCII", "é", "e", 1},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Edits(row.a, row.b); got != row.want {
				t.Errorf("got %d, want %d", got, row.want)
			}
			if got := Edits(row.b, row.a); got != row.want {
				t.Errorf("reversed: got %d, want %d", got, row.want)
			}
			if got, want := AreNear(row.a, row.b), row.want <= 1; got != want {
				t.Errorf("near: got %v, want %v", got, want)
			}
		})
	}
}

// Every text that n random edits make of another is at most n edits away.
func TestEditsNeverExceedWhatWasEdited(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 2000 {
		text := []byte("authorization")
		n := r.IntN(4)
		for range n {
			at := r.IntN(len(text) - 1)
			switch r.IntN(4) {
			case 0:
				text = append(text[:at], append([]byte{'x'}, text[at:]...)...)
			case 1:
				text = append(text[:at], text[at+1:]...)
			case 2:
				text[at] = 'y'
			case 3:
				text[at], text[at+1] = text[at+1], text[at]
			}
		}
		if got := Edits("authorization", string(text)); got > n {
			t.Fatalf("%d edits made %q, got %d", n, text, got)
		} else if near := AreNear("authorization", string(text)); near != (got <= 1) {
			t.Fatalf("%q is %d edits away, got near %v", text, got, near)
		}
	}
}

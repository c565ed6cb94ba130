package jsontext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"
)

// splitAll splits a text in small blocks.
func splitAll(r io.Reader, block, large int) (*Object, [][]byte, error) {
	var blocks [][]byte
	s := &splitter{r: r, keep: func(b []byte) { blocks = append(blocks, bytes.Clone(b)) }, block: block, large: large}
	object, err := s.split()
	return object, blocks, err
}

// joined returns the members of an object, in the order of their keys, and whether Check accepts all.
func joined(o *Object, blocks [][]byte, depth int) (members []string, accepted bool) {
	accepted = true
	for i := range o.Members {
		m := &o.Members[i]
		if m.Object != nil {
			inner, ok := joined(m.Object, blocks, depth)
			members, accepted = append(members, fmt.Sprintf("%q:{%s}", m.First, strings.Join(inner, ","))), accepted && ok
			continue
		}
		group := m.AppendObject(nil, blocks[m.Block])
		if Check(group, Limits{Depth: depth - m.Depth}) != nil {
			return nil, false
		}
		for key, value := range Members(group) {
			members = append(members, fmt.Sprintf("%q:%s", key, plainValue(value)))
		}
	}
	return members, accepted
}

// plainValue returns a value with its members in the order of their keys.
func plainValue(text []byte) string {
	if text[0] != '{' {
		return string(text)
	}
	var members []string
	for key, value := range Members(text) {
		members = append(members, fmt.Sprintf("%q:%s", key, plainValue(value)))
	}
	slices.Sort(members)
	return "{" + strings.Join(members, ",") + "}"
}

func drawJSON(t *rapid.T, depth int, isOrdered bool) string {
	space := rapid.SampledFrom([]string{"", "", "", " ", "\n"})
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return space.Draw(t, "space") + rapid.SampledFrom([]string{"1", "-2.5e3", "true", "null", `"x"`, `"}\""`, `"a\u00e4,"`, "[]", "{}", `[1,{"b":[2]},"]"]`}).Draw(t, "value") + space.Draw(t, "space")
	}
	keys := rapid.SliceOfNDistinct(rapid.SampledFrom(strings.Fields("a b c d e f g h ä k1 k2 k3")), 0, 9, rapid.ID).Draw(t, "keys")
	if isOrdered {
		slices.Sort(keys)
	}
	var members []string
	for _, key := range keys {
		members = append(members, fmt.Sprintf("%s%q%s:%s", space.Draw(t, "space"), key, space.Draw(t, "space"), drawJSON(t, depth-1, isOrdered)))
	}
	return "{" + strings.Join(members, ",") + space.Draw(t, "space") + "}"
}

// The blocks of a text are the text. Its groups have all members, and are accepted if the whole is: of
// texts that were damaged too.
func TestSplit(t *testing.T) {
	const depth = 6
	rapid.Check(t, func(t *rapid.T) {
		isOrdered, isDamaged := rapid.Bool().Draw(t, "ordered"), rapid.Bool().Draw(t, "damage")
		text := drawJSON(t, 5, isOrdered)
		if n := len(text); isDamaged {
			at := rapid.IntRange(0, n-1).Draw(t, "at")
			text = text[:at] + rapid.SampledFrom([]string{"", ",", "}", "{", `"`, ":", "\\", "\xff", `"a":1,`, " "}).Draw(t, "by") + text[min(n, at+rapid.IntRange(0, 2).Draw(t, "gone")):]
		}
		var r io.Reader = strings.NewReader(text)
		if rapid.Bool().Draw(t, "by bytes") {
			r = iotest.OneByteReader(r)
		}
		object, blocks, err := splitAll(r, rapid.IntRange(1, 40).Draw(t, "block"), rapid.IntRange(1, 30).Draw(t, "large"))
		if got := string(bytes.Join(blocks, nil)); got != text || err != nil {
			t.Fatalf("got  %q, %v\nwant %q", got, err, text)
		}
		if object == nil {
			if isOrdered && !isDamaged && strings.TrimSpace(text)[0] == '{' {
				t.Fatalf("%q is not split", text)
			}
			return
		}
		members, accepted := joined(object, blocks, depth)
		if fails := Check([]byte(text), Limits{Depth: depth}); accepted != (fails == nil) {
			t.Fatalf("%s\nthe groups are accepted: %v, the whole: %v", text, accepted, fails)
		}
		if !accepted {
			return
		}
		want, got := plainValue(bytes.TrimSpace([]byte(text))), plainValue([]byte("{"+strings.Join(members, ",")+"}"))
		if got != want {
			t.Fatalf("got  %s\nwant %s", got, want)
		}
	})
}

// A text with its keys in order is split, however large; with most of them out of order, or with a
// key of escapes, it is not. The reader's error is returned.
func TestSplitNeedsOrder(t *testing.T) {
	var ordered, unordered []string
	for i := range 10_000 {
		ordered = append(ordered, fmt.Sprintf(`"k-%06d":{"x":%d}`, i, i))
		unordered = append(unordered, fmt.Sprintf(`"k-%06d":{"x":%d}`, i*7919%10_000, i))
	}
	text := `{"z":{` + strings.Join(ordered, ",") + `},"a":[1]}`
	object, blocks, err := splitAll(strings.NewReader(text), 4096, 1024)
	if err != nil || object == nil || len(blocks) < 40 {
		t.Fatalf("got %v in %d blocks, %v", object, len(blocks), err)
	}
	if z := object.Members[1]; object.Members[0].First != "a" || z.First != "z" || z.Object == nil || z.Object.Members[0].Depth != 1 {
		t.Errorf("got %+v", object.Members)
	}
	for _, other := range []string{`{"z":{` + strings.Join(unordered, ",") + `}}`, `{"z":{"\u0061":1,` + strings.Join(ordered, ",") + `}}`, "[1]", "", "7"} {
		object, blocks, err := splitAll(strings.NewReader(other), 4096, 1024)
		if object != nil || err != nil || string(bytes.Join(blocks, nil)) != other {
			t.Errorf("%.40s: got %v, %v", other, object, err)
		}
	}
	broken := errors.New("broken")
	for n := range 3 {
		r := io.MultiReader(strings.NewReader(text[:n*5000]), iotest.ErrReader(broken))
		if _, _, err := splitAll(r, 4096, 1024); !errors.Is(err, broken) {
			t.Errorf("got %v, want the reader's error", err)
		}
	}
}

package rego

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// spin uses a processor for as long.
func spin(took time.Duration) {
	for began := time.Now(); time.Since(began) < took; {
	}
}

// wants fails unless err is a Refusal with the text.
func wants(t *testing.T, err error, isFinal bool, text string) {
	t.Helper()
	refusal, ok := errors.AsType[*Refusal](err)
	if !ok || refusal.IsFinal != isFinal || !strings.Contains(refusal.Message, text) {
		t.Errorf("got %v, want a refusal, final %t, with %q", err, isFinal, text)
	}
}

// A compilation beyond its limit is left alone, and the next one does not wait for it.
func TestCompilationBeyondItsLimit(t *testing.T) {
	var released atomic.Bool
	endless := func() int {
		for !released.Load() {
		}
		return 1
	}
	var refused []string
	for _, text := range []string{"a", "a", "b"} {
		_, took, err := within(100*time.Millisecond, Author{File: text, Line: 3}, [32]byte{text[0]}, endless)
		wants(t, err, true, "takes more than 100ms")
		refused = append(refused, took.String())
	}
	if refused[0] == "0s" || refused[1] != "0s" || refused[2] == "0s" {
		t.Errorf("got times %v: a text that was refused is not compiled again", refused)
	}
	var author Author
	_, _, err := within(time.Hour, Author{File: "c"}, [32]byte{'c'}, func() int { return 1 })
	wants(t, err, false, "2 modules that take too long")
	Compile(func() {}) // what is not an author's is compiled
	released.Store(true)
	for got := 0; got != 1; {
		got, _, _ = within(time.Hour, Author{File: "c", Line: 7}, [32]byte{'c'}, func() int {
			author, _ = Compiling()
			return 1
		})
	}
	if author.String() != "c:7" {
		t.Errorf("got author %v while c compiles", author)
	}
	if _, is := Compiling(); is {
		t.Error("something compiles after the end")
	}
}

// Time that the thread does not run is not counted.
func TestProcessorTime(t *testing.T) {
	if _, _, err := within(200*time.Millisecond, Author{File: "a"}, [32]byte{'w'}, func() int { time.Sleep(time.Second); return 1 }); err != nil {
		t.Error(err)
	}
}

// A panic of a compilation is that of its caller, which recovers from it.
func TestPanicOfCompilation(t *testing.T) {
	defer func() {
		if recover() != "a bug" {
			t.Error("no panic")
		}
		if _, is := Compiling(); is {
			t.Error("something compiles after a panic")
		}
		Compile(func() {}) // the lock is free
	}()
	_, _, _ = within(time.Hour, Author{File: "a"}, [32]byte{'p'}, func() int { panic("a bug") })
}

// Many modules, none of which takes too long, are bounded together.
func TestBudget(t *testing.T) {
	b := &Budget{}
	b.add("a", 20*time.Second)
	b.add("b", 9*time.Second)
	if file, refusal := b.Check(); refusal != nil {
		t.Errorf("got %s, %v before the limit", file, refusal)
	}
	b.add("c", time.Second+time.Millisecond)
	if file, refusal := b.Check(); file != "a" || refusal == nil {
		t.Errorf("got %s, %v, want a", file, refusal)
	}
	_, _, err := One(b, Author{File: "d"}, []byte("d"), func() int { return 1 })
	wants(t, err, false, "the Rego of other documents")
	b.Keep(func(yield func(string) bool) { _ = yield("b") && yield("c") && yield("x") })
	if _, took, err := One(b, Author{File: "d"}, []byte("d"), func() int { spin(50 * time.Millisecond); return 1 }); err != nil || took <= 0 || b.spent["d"] != took {
		t.Errorf("got %v, %v after the largest is gone", took, err)
	}
	if _, refusal := b.Check(); refusal != nil || len(b.spent) != 3 {
		t.Errorf("got %v, %v", refusal, b.spent)
	}
}

package rego

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"iter"
	"runtime"
	"strconv"
	"sync"
	"time"
)

// Limits on the compilation of what authors wrote, in processor time of its thread: a busy
// machine does not refuse what a quiet one accepts.
const (
	maxOne = 5 * time.Second  // one module
	maxAll = 30 * time.Second // the modules of one snapshot, and all extensions together
	// maxLeft is how many compilations beyond their limit may still run. OPA's compiler
	// cannot be interrupted, so they keep a processor until they end.
	maxLeft = 2
	// maxRefused is how many texts are remembered that took too long.
	maxRefused = 1000
)

// Author is where a module that an author wrote begins.
type Author struct {
	File         string
	Line, Column int
}

func (a Author) String() string { return a.File + ":" + strconv.Itoa(a.Line) }

// Refusal is why a module was not compiled.
type Refusal struct {
	Message string
	// IsFinal states that the same text will be refused again.
	IsFinal bool
}

func (r *Refusal) Error() string { return r.Message }

// RefusalHint is the hint of diagnostics about a module that takes too long.
const RefusalHint = "write fewer expressions in a body, with those that others need first"

// Budget is the processor time that the modules of a snapshot took to compile, by file. The
// zero value has none. A nil Budget is one without a limit. It is safe for concurrent use.
type Budget struct {
	mu    sync.Mutex
	spent map[string]time.Duration
	sum   time.Duration
}

// Keep forgets all files but those that it has already and that stay yields.
func (b *Budget) Keep(stay iter.Seq[string]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.spent) == 0 {
		return
	}
	kept, sum := make(map[string]time.Duration), time.Duration(0)
	for file := range stay {
		if spent, ok := b.spent[file]; ok {
			kept[file] = spent
			sum += spent
		}
	}
	b.spent, b.sum = kept, sum
}

// Check returns a Refusal if the modules take longer than those of a snapshot may, and the
// file that takes most; nil otherwise.
func (b *Budget) Check() (file string, refusal *Refusal) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.sum <= maxAll {
		return "", nil
	}
	for f, spent := range b.spent {
		if cmp.Or(cmp.Compare(b.spent[file], spent), cmp.Compare(f, file)) < 0 {
			file = f
		}
	}
	return file, &Refusal{IsFinal: true, Message: fmt.Sprintf(
		"the Rego of all documents takes more than %v to compile; that of this file takes most, %v", maxAll, b.spent[file].Round(time.Millisecond))}
}

func (b *Budget) add(file string, took time.Duration) {
	if b == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.spent == nil {
		b.spent = make(map[string]time.Duration)
	}
	b.spent[file] += took
	b.sum += took
}

func (b *Budget) isSpent() bool {
	if b == nil {
		return false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.sum > maxAll
}

// authored is the state of compilations of what authors wrote, in the whole process.
var authored struct {
	sync.Mutex
	author  Author // whose module is compiled; zero if none is
	left    int    // compilations beyond their limit that still run
	refused map[[sha256.Size]byte]bool
}

// Compiling returns whose module is compiled; false if none is.
func Compiling() (Author, bool) {
	authored.Lock()
	defer authored.Unlock()
	return authored.author, authored.author != Author{}
}

// One compiles a module that an author wrote, by f, as Compile does. It returns a Refusal if
// f takes too long, or the budget is spent. f then still runs, without a lock, and its result
// is lost: it must use nothing that its caller changes. A text that was refused is refused
// again at once. One returns the processor time of f too.
func One[T any](b *Budget, author Author, text []byte, f func() T) (result T, took time.Duration, err error) {
	if b.isSpent() {
		return result, 0, &Refusal{Message: fmt.Sprintf("not compiled: the Rego of other documents takes more than %v", maxAll)}
	}
	result, took, err = within(maxOne, author, sha256.Sum256(text), f)
	b.add(author.File, took)
	return result, took, err
}

// All compiles modules of several authors together, as One does a module of one. The author
// is the one whose module is most likely the reason if it takes too long.
func All[T any](author Author, text []byte, f func() T) (T, error) {
	result, _, err := within(maxAll, author, sha256.Sum256(text), f)
	return result, err
}

func within[T any](limit time.Duration, author Author, key [sha256.Size]byte, f func() T) (result T, took time.Duration, err error) {
	compiling.Lock()
	defer compiling.Unlock()
	if err := begin(author, key, limit); err != nil {
		return result, 0, err
	}
	type end struct {
		result T
		cause  any // of a panic
	}
	ended := make(chan end, 1)
	clock := make(chan func() time.Duration, 1)
	go func() {
		runtime.LockOSThread() // the clock is that of a thread
		defer runtime.UnlockOSThread()
		var e end
		defer func() {
			e.cause = recover()
			ended <- e
		}()
		clock <- threadClock()
		e.result = f()
	}()
	spent := <-clock
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case e := <-ended:
			finish(false, key)
			if e.cause != nil {
				panic(e.cause) // as if f had run here
			}
			return e.result, spent(), nil
		case <-tick.C:
			if took = spent(); took <= limit {
				continue
			}
			finish(true, key)
			go func() {
				<-ended
				authored.Lock()
				defer authored.Unlock()
				authored.left--
			}()
			return result, took, tooLong(limit)
		}
	}
}

func tooLong(limit time.Duration) *Refusal {
	return &Refusal{IsFinal: true, Message: fmt.Sprintf("takes more than %v to compile", limit)}
}

// begin records whose module is compiled, or refuses to.
func begin(author Author, key [sha256.Size]byte, limit time.Duration) error {
	authored.Lock()
	defer authored.Unlock()
	switch {
	case authored.refused[key]:
		return tooLong(limit)
	case authored.left >= maxLeft:
		return &Refusal{Message: fmt.Sprintf("not compiled: %d modules that take too long are still being compiled", authored.left)}
	}
	authored.author = author
	return nil
}

// finish records that a compilation ended or was left alone.
func finish(isLeft bool, key [sha256.Size]byte) {
	authored.Lock()
	defer authored.Unlock()
	authored.author = Author{}
	if !isLeft {
		return
	}
	authored.left++
	if authored.refused == nil || len(authored.refused) >= maxRefused {
		authored.refused = make(map[[sha256.Size]byte]bool)
	}
	authored.refused[key] = true
}

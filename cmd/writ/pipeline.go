package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
)

// pipeline answers lines: a reader cuts the input into batches, workers answer
// batches side by side, and a writer puts the answers out in the order of the
// lines. At most window batches are under way, so memory does not depend on how
// many lines there are.
type pipeline struct {
	// workers is how many batches are answered at once.
	workers int
	// maxLine bounds a line in bytes, without its newline.
	maxLine int
	// answer appends the answer to one line, newline included. It is called by
	// several workers at once. A line over maxLine comes cut, with tooLong.
	answer func(into *bytes.Buffer, line []byte, tooLong bool)
	// answered is told, by the writer alone, how many more lines are out.
	answered func(lines int)
}

// A batch ends when it holds this many lines or bytes, or when the input has
// nothing more to offer without waiting: somebody may be typing.
const (
	batchLines = 64
	batchBytes = 256 << 10
	windowFor  = 4 // batches under way for each worker
)

type line struct {
	text    []byte
	tooLong bool
}

type batch struct {
	lines []line
	out   bytes.Buffer
	done  chan struct{}
}

// run answers every line of in. Cancelling ctx ends it even while in is waited
// for; what was answered before is written.
func (p *pipeline) run(ctx context.Context, in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	work := make(chan *batch)
	ordered := make(chan *batch, p.workers*windowFor)
	failed := make(chan error, 1)
	go func() {
		defer close(ordered)
		defer close(work)
		failed <- p.read(ctx, in, func(b *batch) bool {
			select {
			case ordered <- b:
			case <-ctx.Done():
				return false
			}
			select {
			case work <- b:
				return true
			case <-ctx.Done():
				return false
			}
		})
	}()
	var group sync.WaitGroup
	for range p.workers {
		group.Go(func() { p.work(work) })
	}
	if err := p.write(ctx, ordered, out); err != nil {
		return err
	}
	group.Wait()
	return <-failed
}

// read cuts in into batches and gives them to put until that refuses.
func (p *pipeline) read(ctx context.Context, in io.Reader, put func(*batch) bool) error {
	reader := bufio.NewReaderSize(in, 64<<10)
	b, size := newBatch(), 0
	for {
		text, tooLong, err := readLine(reader, p.maxLine)
		if err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read requests: %w", err)
		}
		if len(bytes.TrimSpace(text)) > 0 {
			b.lines = append(b.lines, line{text, tooLong})
			size += len(text)
		}
		ended := err != nil
		full := len(b.lines) >= batchLines || size >= batchBytes || reader.Buffered() == 0
		if len(b.lines) > 0 && (ended || full) {
			if !put(b) {
				return ctx.Err()
			}
			b, size = newBatch(), 0
		}
		if ended {
			return nil
		}
	}
}

func newBatch() *batch { return &batch{done: make(chan struct{})} }

// readLine reads up to a newline and drops what is over limit, so that a line
// without end takes no memory. At the end of the input err is io.EOF beside the
// last line.
func readLine(r *bufio.Reader, limit int) (text []byte, tooLong bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte("\n"))
		if room := limit - len(text); len(part) > room {
			part, tooLong = part[:room], true
		}
		text = append(text, part...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return text, tooLong, err
		}
	}
}

func (p *pipeline) work(batches <-chan *batch) {
	for b := range batches {
		for _, l := range b.lines {
			p.answer(&b.out, l.text, l.tooLong)
		}
		close(b.done)
	}
}

// write puts answers out in order, and flushes whenever it would have to wait.
func (p *pipeline) write(ctx context.Context, ordered <-chan *batch, out io.Writer) error {
	writer := bufio.NewWriterSize(out, 64<<10)
	for {
		b, err := next(ctx, ordered, writer)
		if b == nil || err != nil {
			return errors.Join(err, writer.Flush())
		}
		if _, err := writer.Write(b.out.Bytes()); err != nil {
			return err
		}
		p.answered(len(b.lines))
	}
}

// next waits for the next answered batch; nil after the last one.
func next(ctx context.Context, ordered <-chan *batch, writer *bufio.Writer) (*batch, error) {
	var b *batch
	open := true
	select {
	case b, open = <-ordered:
	default:
		if err := writer.Flush(); err != nil {
			return nil, err
		}
		select {
		case b, open = <-ordered:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if !open {
		return nil, nil
	}
	select {
	case <-b.done:
	default:
		if err := writer.Flush(); err != nil {
			return nil, err
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return b, nil
}

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"github.com/writ-policy/writ/server/decision"
)

// streamChunk is how many indexes a line of visible items holds at most.
const streamChunk = 1000

// answerStream answers one request whose items come one a line.
func answerStream(ctx context.Context, s streams, v decision.Viewer, maxLine int) error {
	in := bufio.NewReaderSize(s.in, 64<<10)
	out := bufio.NewWriterSize(s.out, 64<<10)
	stream := decision.Stream{Chunk: streamChunk, Write: func(line []byte) error {
		_, err := out.Write(line)
		return err
	}}
	err := runStream(ctx, in, s.err, v, &stream, maxLine)
	var invalid *decision.InvalidRequest
	if errors.As(err, &invalid) {
		if failed := stream.Refuse(invalid); failed != nil {
			return failed
		}
	}
	if failed := out.Flush(); failed != nil {
		return failed
	}
	return err
}

func runStream(ctx context.Context, in *bufio.Reader, talk io.Writer, v decision.Viewer, stream *decision.Stream, maxLine int) error {
	head, err := streamLine(in, maxLine)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	request, err := decision.DecodeVisibility(head)
	if err != nil {
		return err
	}
	if err := request.Streamed(); err != nil {
		return err
	}
	told := startProgress(talk, "items read")
	d, err := stream.Run(ctx, v, request, v.Authorize(ctx, request), itemLines(ctx, in, maxLine, told))
	told.end()
	if err == nil && d.Trouble != "" {
		return errors.New(d.Trouble)
	}
	return err
}

// itemLines reads items, one a line.
func itemLines(ctx context.Context, in *bufio.Reader, maxLine int, told *progress) iter.Seq2[decision.Item, error] {
	return func(yield func(decision.Item, error) bool) {
		for number := 0; ; number++ {
			text, err := streamLine(in, maxLine)
			if err == nil {
				err = ctx.Err()
			}
			if err != nil && (!errors.Is(err, io.EOF) || len(text) == 0) {
				if !errors.Is(err, io.EOF) {
					yield(decision.Item{}, err)
				}
				return
			}
			item, err := decision.DecodeItem(text)
			if err != nil {
				err = decision.InItem(number, err)
			}
			told.add(1)
			if !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// streamLine reads a line that is not blank; none and io.EOF at the end.
func streamLine(in *bufio.Reader, maxLine int) ([]byte, error) {
	for {
		text, tooLong, err := readLine(in, maxLine)
		switch {
		case tooLong:
			return nil, &decision.InvalidRequest{
				Code: decision.CodeInvalidRequest, Message: fmt.Sprintf("the line is longer than %d bytes", maxLine),
			}
		case err != nil && !errors.Is(err, io.EOF):
			return nil, fmt.Errorf("read items: %w", err)
		case len(bytes.TrimSpace(text)) > 0, err != nil:
			return text, err
		}
	}
}

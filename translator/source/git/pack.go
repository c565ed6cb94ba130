package git

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/go-git/go-billy/v5"
	"github.com/go-git/go-git/v5/plumbing"
	"github.com/go-git/go-git/v5/plumbing/cache"
	"github.com/go-git/go-git/v5/plumbing/format/idxfile"
	"github.com/go-git/go-git/v5/plumbing/format/packfile"
	"github.com/go-git/go-git/v5/storage/memory"

	"github.com/writ-policy/writ/translator/source"
)

// packPattern names the file of a pack until its name is removed.
const packPattern = "fetch-*"

// storePack copies r to a file without a name, so that the file disappears when it is closed
// and when the process ends, even if it is killed. It returns an error if the file cannot be
// created or r cannot be read to its end.
func storePack(dir string, r io.Reader) (billy.File, error) {
	f, err := createPackFile(dir)
	if err != nil {
		return nil, fmt.Errorf("create a file for the fetch: %w", source.TrimPath(err))
	}
	if _, err = io.Copy(f, r); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		f.Close()
		return nil, source.TrimPath(err)
	}
	return f, nil
}

// createPackFile creates a file and removes its name. It first removes files that a version
// without this protection, or a kill between the two steps, left in dir.
func createPackFile(dir string) (billy.File, error) {
	if dir == "" {
		dir = os.TempDir()
	} else {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
		left, _ := filepath.Glob(filepath.Join(dir, packPattern)) // fails only for an invalid pattern
		for _, path := range left {
			os.RemoveAll(path)
		}
	}
	f, err := os.CreateTemp(dir, packPattern)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(f.Name()); err != nil {
		f.Close()
		return nil, err
	}
	return unnamedFile{f}, nil
}

// unnamedFile implements billy.File. It needs no locks: other processes cannot open it.
type unnamedFile struct{ *os.File }

func (unnamedFile) Lock() error   { return nil }
func (unnamedFile) Unlock() error { return nil }

// openPack indexes a pack and returns its objects. It first checks the sizes of all objects:
// a few bytes that expand to gigabytes must not exhaust memory. It returns an error if the
// pack is incomplete, corrupted or too large.
func openPack(ctx context.Context, f billy.File, o *Options) (objectStore, error) {
	var exceeded *limitError
	if err := checkPack(ctx, bufio.NewReaderSize(f, 1<<16), o); errors.As(err, &exceeded) {
		return nil, err
	} else if err != nil {
		return nil, fmt.Errorf("the server sent an incomplete pack: %w", err)
	}
	if _, err := f.Seek(0, io.SeekStart); err != nil {
		return nil, source.TrimPath(err)
	}
	index := &idxfile.Writer{}
	parser, err := packfile.NewParser(packfile.NewScanner(f), index)
	if err != nil {
		return nil, err
	}
	if _, err := parser.Parse(); err != nil {
		return nil, fmt.Errorf("the server sent an incomplete pack: %w", err)
	}
	found, err := index.Index()
	if err != nil {
		return nil, err
	}
	pack := packfile.NewPackfileWithCache(found, nil, f, cache.NewObjectLRUDefault(), 0)
	return checkedObjects{memory.NewStorage(), func(_ plumbing.ObjectType, hash plumbing.Hash) (plumbing.EncodedObject, error) {
		return pack.Get(hash)
	}}, nil
}

// checkPack unpacks every object once and discards it, to check the sizes and the checksum.
func checkPack(ctx context.Context, r io.Reader, o *Options) error {
	scanner := packfile.NewScanner(r)
	_, count, err := scanner.Header()
	if err != nil {
		return asUnexpectedEOF(err)
	}
	if int64(count) > int64(o.Limits.MaxEntries) {
		return &limitError{fmt.Sprintf("the commit exceeds the limit of %d objects", o.Limits.MaxEntries)}
	}
	var total int64
	for range count {
		if err := ctx.Err(); err != nil {
			return context.Cause(ctx)
		}
		size, err := checkObject(scanner, o.MaxFetch/8)
		if err != nil {
			return asUnexpectedEOF(err)
		}
		if total += size; total > o.MaxFetch {
			return &limitError{fmt.Sprintf("the unpacked commit exceeds the limit of %d bytes", o.MaxFetch)}
		}
	}
	if _, err := scanner.Checksum(); err != nil {
		return asUnexpectedEOF(err)
	}
	return nil
}

// checkObject unpacks the next object and returns its size, for a delta the size of the
// object that the delta produces. It returns an error if the size exceeds maxBytes or differs
// from the header.
func checkObject(scanner *packfile.Scanner, maxBytes int64) (int64, error) {
	header, err := scanner.NextObjectHeader()
	if err != nil {
		return 0, err
	}
	exceeded := &limitError{fmt.Sprintf("an object of the commit exceeds the limit of %d bytes", maxBytes)}
	if header.Length < 0 || header.Length > maxBytes {
		return 0, exceeded
	}
	var delta deltaHeader
	n, _, err := scanner.NextObject(&delta)
	if err != nil {
		return 0, err
	}
	if n != header.Length {
		return 0, fmt.Errorf("an object has %d bytes, and %d according to its header", n, header.Length)
	}
	if !header.Type.IsDelta() {
		return n, nil
	}
	size, err := delta.resultSize()
	if err != nil {
		return 0, err
	}
	if size > maxBytes {
		return 0, exceeded
	}
	return max(n, size), nil
}

// deltaHeader is a writer that keeps the first bytes of a delta and discards the rest. The
// header is two numbers of seven bits a byte: the sizes of the base and of the result.
type deltaHeader struct {
	bytes [20]byte
	n     int
}

func (h *deltaHeader) Write(b []byte) (int, error) {
	h.n += copy(h.bytes[h.n:], b)
	return len(b), nil
}

func (h *deltaHeader) resultSize() (int64, error) {
	rest := h.bytes[:h.n]
	var number int64
	for range 2 {
		number = 0
		for shift := 0; ; shift += 7 {
			if len(rest) == 0 || shift > 56 {
				return 0, errors.New("a delta has an incomplete header")
			}
			b := rest[0]
			rest = rest[1:]
			number |= int64(b&0x7f) << shift
			if b < 0x80 {
				break
			}
		}
	}
	return number, nil
}

// asUnexpectedEOF converts io.EOF: a pack ends with a checksum, not with the last object.
func asUnexpectedEOF(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

"""Printing an allocator of NumPy's that uses the memory of large arrays again, as LLVM's assembly.

What is freed is kept, up to a bound, for the next array of about that size: new memory has to be cleared by the system, which takes longer than
many a kernel. The system is told that it may take back what is kept of large ones (MADV_FREE); of smaller ones less is kept, for that would take as long as
clearing them. No locks: blocks go into slots, and out of them, by single operations of the processor, so threads and forks find them whole.

A block has its size before it, in a head of its own, so it does not matter what an array says of its size when it is freed.
"""

from __future__ import annotations

from fungrad.compile.emit.llvm_prelude import PRELUDE

LEAST = 1 << 18
"""Bytes from which arrays are kept."""
LARGE = 1 << 22
"""Bytes from which the system is told, and NumPy asks for large pages."""
MOST, MOST_UNTOLD = 1 << 28, 1 << 26
"""Most bytes kept at once, and most bytes kept without telling the system."""
SLOTS = 64
HEAD = 64
PAGE = 1 << 12
LARGE_PAGES, TAKEN_BACK = 14, 8
"""Linux's MADV_HUGEPAGE and MADV_FREE."""
FUNCTIONS = ("malloc", "free", "madvise")
HANDLER, GIVE_BACK, KEPT, TABLE = "handler", "give_back", "kept", "table"
"""Names for others: the handler, the function that frees kept memory, its size, the address table."""

_TEXT = """
@slots = internal global [%(slots)d x ptr] zeroinitializer, align 64
@kept = global i64 0, align 64
@table = global [3 x ptr] zeroinitializer, align 64
@handler = global { [127 x i8], i8, ptr, ptr, ptr, ptr, ptr } {
  [127 x i8] c"fungrad%(zeros)s", i8 1, ptr null, ptr @new, ptr @zeros, ptr @resized, ptr @freed }, align 64
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

define internal void @free(ptr %%block) {
  %%f = call ptr @address(i64 1)
  call void %%f(ptr %%block)
  ret void
}
define internal void @advise(ptr %%block, i64 %%size, i32 %%what) {
  %%first = ptrtoint ptr %%block to i64
  %%beyond = add i64 %%first, %(behind)d
  %%page = and i64 %%beyond, -%(page)d
  %%last = add i64 %%first, %%size
  %%end = and i64 %%last, -%(page)d
  %%length = sub i64 %%end, %%page
  %%place = inttoptr i64 %%page to ptr
  %%f = call ptr @address(i64 2)
  %%ignored = call i32 %%f(ptr %%place, i64 %%length, i32 %%what)
  ret void
}
define internal ptr @taken(i64 %%size) {
entry:
  %%eighth = lshr i64 %%size, 3
  %%limit = add i64 %%size, %%eighth
  br label %%look
look:
  %%k = phi i64 [ 0, %%entry ], [ %%next, %%on ]
  %%more = icmp ult i64 %%k, %(slots)d
  br i1 %%more, label %%take, label %%none
take:
  %%slot = getelementptr ptr, ptr @slots, i64 %%k
  %%seen = load atomic ptr, ptr %%slot monotonic, align 8
  %%vacant = icmp eq ptr %%seen, null
  br i1 %%vacant, label %%on, label %%exchange
exchange:
  %%block = atomicrmw xchg ptr %%slot, ptr null acq_rel
  %%empty = icmp eq ptr %%block, null
  br i1 %%empty, label %%on, label %%measure
measure:
  %%has = load i64, ptr %%block
  %%holds = icmp uge i64 %%has, %%size
  %%near = icmp ule i64 %%has, %%limit
  %%fits = and i1 %%holds, %%near
  br i1 %%fits, label %%found, label %%back
found:
  %%before = atomicrmw sub ptr @kept, i64 %%has acq_rel
  ret ptr %%block
back:
  %%pair = cmpxchg ptr %%slot, ptr null, ptr %%block acq_rel acquire
  %%done = extractvalue { ptr, i1 } %%pair, 1
  br i1 %%done, label %%on, label %%lost
lost:
  %%less = atomicrmw sub ptr @kept, i64 %%has acq_rel
  call void @free(ptr %%block)
  br label %%on
on:
  %%next = add i64 %%k, 1
  br label %%look
none:
  ret ptr null
}
define void @give_back() {
entry:
  br label %%look
look:
  %%k = phi i64 [ 0, %%entry ], [ %%next, %%on ]
  %%more = icmp ult i64 %%k, %(slots)d
  br i1 %%more, label %%take, label %%end
take:
  %%slot = getelementptr ptr, ptr @slots, i64 %%k
  %%block = atomicrmw xchg ptr %%slot, ptr null acq_rel
  %%empty = icmp eq ptr %%block, null
  br i1 %%empty, label %%on, label %%drop
drop:
  %%has = load i64, ptr %%block
  %%before = atomicrmw sub ptr @kept, i64 %%has acq_rel
  call void @free(ptr %%block)
  br label %%on
on:
  %%next = add i64 %%k, 1
  br label %%look
end:
  ret void
}
define internal ptr @block(i64 %%size) {
entry:
  %%known = icmp uge i64 %%size, %(least)d
  br i1 %%known, label %%look, label %%make
look:
  %%old = call ptr @taken(i64 %%size)
  %%none = icmp eq ptr %%old, null
  br i1 %%none, label %%make, label %%again
again:
  ret ptr %%old
make:
  %%whole = add i64 %%size, %(head)d
  %%over = icmp ult i64 %%whole, %%size
  br i1 %%over, label %%fails, label %%ask
ask:
  %%f = call ptr @address(i64 0)
  %%first = call ptr %%f(i64 %%whole)
  %%short = icmp eq ptr %%first, null
  br i1 %%short, label %%retry, label %%made
retry:
  call void @give_back()
  %%second = call ptr %%f(i64 %%whole)
  %%still = icmp eq ptr %%second, null
  br i1 %%still, label %%fails, label %%made
made:
  %%new = phi ptr [ %%first, %%ask ], [ %%second, %%retry ]
  store i64 %%size, ptr %%new
  %%large = icmp uge i64 %%size, %(large)d
  br i1 %%large, label %%hint, label %%end
hint:
  call void @advise(ptr %%new, i64 %%whole, i32 %(large_pages)d)
  br label %%end
end:
  ret ptr %%new
fails:
  ret ptr null
}
define internal ptr @new(ptr %%context, i64 %%size) {
  %%block = call ptr @block(i64 %%size)
  %%none = icmp eq ptr %%block, null
  %%data = getelementptr i8, ptr %%block, i64 %(head)d
  %%result = select i1 %%none, ptr null, ptr %%data
  ret ptr %%result
}
define internal ptr @zeros(ptr %%context, i64 %%count, i64 %%each) {
  %%pair = call { i64, i1 } @llvm.umul.with.overflow.i64(i64 %%count, i64 %%each)
  %%over = extractvalue { i64, i1 } %%pair, 1
  br i1 %%over, label %%fails, label %%make
make:
  %%size = extractvalue { i64, i1 } %%pair, 0
  %%data = call ptr @new(ptr %%context, i64 %%size)
  %%none = icmp eq ptr %%data, null
  br i1 %%none, label %%fails, label %%clear
clear:
  call void @llvm.memset.p0.i64(ptr %%data, i8 0, i64 %%size, i1 false)
  ret ptr %%data
fails:
  ret ptr null
}
declare { i64, i1 } @llvm.umul.with.overflow.i64(i64, i64)
define internal ptr @resized(ptr %%context, ptr %%data, i64 %%size) {
  %%new = call ptr @new(ptr %%context, i64 %%size)
  %%none = icmp eq ptr %%new, null
  %%first = icmp eq ptr %%data, null
  %%stop = or i1 %%none, %%first
  br i1 %%stop, label %%end, label %%copy
copy:
  %%block = getelementptr i8, ptr %%data, i64 -%(head)d
  %%has = load i64, ptr %%block
  %%less = icmp ult i64 %%has, %%size
  %%count = select i1 %%less, i64 %%has, i64 %%size
  call void @llvm.memcpy.p0.p0.i64(ptr %%new, ptr %%data, i64 %%count, i1 false)
  call void @freed(ptr %%context, ptr %%data, i64 %%has)
  br label %%end
end:
  ret ptr %%new
}
define internal void @freed(ptr %%context, ptr %%data, i64 %%size) {
entry:
  %%nothing = icmp eq ptr %%data, null
  br i1 %%nothing, label %%end, label %%see
see:
  %%block = getelementptr i8, ptr %%data, i64 -%(head)d
  %%has = load i64, ptr %%block
  %%small = icmp ult i64 %%has, %(least)d
  %%huge = icmp ugt i64 %%has, %(most)d
  %%other = or i1 %%small, %%huge
  br i1 %%other, label %%drop, label %%count
count:
  %%before = atomicrmw add ptr @kept, i64 %%has acq_rel
  %%now = add i64 %%before, %%has
  %%large = icmp uge i64 %%has, %(large)d
  %%limit = select i1 %%large, i64 %(most)d, i64 %(most_untold)d
  %%full = icmp ugt i64 %%now, %%limit
  br i1 %%full, label %%refuse, label %%keep
keep:
  br i1 %%large, label %%tell, label %%look
tell:
  %%whole = add i64 %%has, %(head)d
  call void @advise(ptr %%block, i64 %%whole, i32 %(taken_back)d)
  br label %%look
look:
  %%k = phi i64 [ 0, %%keep ], [ 0, %%tell ], [ %%next, %%try ]
  %%more = icmp ult i64 %%k, %(slots)d
  br i1 %%more, label %%try, label %%refuse
try:
  %%slot = getelementptr ptr, ptr @slots, i64 %%k
  %%pair = cmpxchg ptr %%slot, ptr null, ptr %%block acq_rel acquire
  %%done = extractvalue { ptr, i1 } %%pair, 1
  %%next = add i64 %%k, 1
  br i1 %%done, label %%end, label %%look
refuse:
  %%less = atomicrmw sub ptr @kept, i64 %%has acq_rel
  br label %%drop
drop:
  call void @free(ptr %%block)
  br label %%end
end:
  ret void
}
"""


def recycling_assembly() -> str:
    """Return the allocator."""
    numbers = {"slots": SLOTS, "least": LEAST, "large": LARGE, "head": HEAD, "page": PAGE}
    numbers |= {"most": MOST, "most_untold": MOST_UNTOLD}
    numbers |= {"large_pages": LARGE_PAGES, "taken_back": TAKEN_BACK, "behind": HEAD + PAGE - 1}
    return PRELUDE + _TEXT % {**numbers, "zeros": "\\00" * (127 - len("fungrad"))}

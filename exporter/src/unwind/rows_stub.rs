//! Stub.
use crate::symbol::Executable;
use evenkeel_abi::{CfaKind, FramePointerKind, ReturnKind, UnwindRule};
use gimli::{
    BaseAddresses, CfaRule, CieOrFde, EhFrame, EndianSlice, LittleEndian, Operation, Register,
    RegisterRule, UnwindContext, UnwindExpression, UnwindSection,
};
use object::{Object, ObjectSection};
use std::collections::HashMap;
/// Rows.
#[derive(Debug, Default)]
pub struct Rows {
    /// a
    pub first_address: u64,
    /// b
    pub pages: Vec<u32>,
    /// c
    pub rows: Vec<Row>,
    /// d
    pub rules: Vec<UnwindRule>,
}
/// Row.
#[derive(Debug, Clone, Copy)]
pub struct Row {
    /// a
    pub low: u16,
    /// b
    pub rule: u16,
}
/// E.
#[derive(Debug, thiserror::Error)]
#[error("stub {0}")]
pub struct RowsError(String);
/// L
#[derive(Debug, Default)]
pub struct RowsLimits;
type S<'a> = EndianSlice<'a, LittleEndian>;
fn cfa_expr(frame: &EhFrame<S<'_>>, e: &UnwindExpression<usize>) -> Option<UnwindRule> {
    let ex = e.get(frame).ok()?;
    let enc = gimli::Encoding {
        address_size: 8,
        format: gimli::Format::Dwarf32,
        version: 4,
    };
    let mut ops = ex.operations(enc);
    let mut v = vec![];
    while let Ok(Some(o)) = ops.next() {
        v.push(o);
        if v.len() > 12 {
            return None;
        }
    }
    match v.as_slice() {
        [
            Operation::RegisterOffset {
                register, offset, ..
            },
            Operation::Deref { .. },
        ] => {
            let kind = match register.0 {
                7 => CfaKind::StackPointerWord,
                6 => CfaKind::FramePointerWord,
                _ => return None,
            };
            UnwindRule::with_cfa(kind, *offset)
        }
        [
            Operation::RegisterOffset {
                register: Register(7),
                offset: 8,
                ..
            },
            Operation::RegisterOffset {
                register: Register(16),
                ..
            },
            Operation::UnsignedConstant { value: 15 },
            Operation::And,
            Operation::UnsignedConstant { value },
            Operation::Ge,
            Operation::UnsignedConstant { value: 3 },
            Operation::Shl,
            Operation::Plus,
        ] => UnwindRule::with_cfa(CfaKind::LinkageTable, 8)?.with_addend(*value),
        _ => None,
    }
}
impl Rows {
    /// B
    pub fn build(x: &Executable, _: &RowsLimits) -> Result<Self, RowsError> {
        let file = x.file().ok_or(RowsError("closed".into()))?;
        let data = object::ReadCache::new(&*file);
        let elf = object::File::parse(&data).map_err(|e| RowsError(e.to_string()))?;
        let sec = elf
            .section_by_name(".eh_frame")
            .ok_or(RowsError("no eh_frame".into()))?;
        let bytes = sec.data().map_err(|e| RowsError(e.to_string()))?;
        let mut bases = BaseAddresses::default().set_eh_frame(sec.address());
        if let Some(t) = elf.section_by_name(".text") {
            bases = bases.set_text(t.address());
        }
        if let Some(t) = elf.section_by_name(".got") {
            bases = bases.set_got(t.address());
        }
        let mut frame = EhFrame::new(bytes, LittleEndian);
        frame.set_address_size(8);
        let mut fdes = vec![];
        let mut it = frame.entries(&bases);
        let mut cies = HashMap::new();
        while let Ok(Some(e)) = it.next() {
            if let CieOrFde::Fde(p) = e {
                if let Ok(f) = p.parse(|s, b, o| match cies.entry(o.0) {
                    std::collections::hash_map::Entry::Occupied(c) => {
                        Ok::<gimli::CommonInformationEntry<S<'_>>, gimli::Error>(Clone::clone(
                            c.get(),
                        ))
                    }
                    std::collections::hash_map::Entry::Vacant(v) => {
                        let c = s.cie_from_offset(b, o)?;
                        v.insert(c.clone());
                        Ok(c)
                    }
                }) {
                    fdes.push(f);
                }
            }
        }
        fdes.sort_by_key(|f| f.initial_address());
        let mut spans: Vec<(u64, UnwindRule)> = vec![];
        let mut ctx = UnwindContext::new();
        let mut end = 0;
        for f in &fdes {
            if f.len() == 0 || f.initial_address() == 0 || f.initial_address() < end {
                continue;
            }
            if end != 0 && f.initial_address() > end {
                spans.push((end, UnwindRule(0)));
            }
            let Ok(mut t) = f.rows(&frame, &bases, &mut ctx) else {
                continue;
            };
            while let Ok(Some(row)) = t.next_row() {
                let unknown = UnwindRule::of_kind(CfaKind::Unknown);
                let mut rule = match row.cfa() {
                    CfaRule::RegisterAndOffset { register, offset } => match register.0 {
                        7 => UnwindRule::with_cfa(CfaKind::StackPointer, *offset),
                        6 => UnwindRule::with_cfa(CfaKind::FramePointer, *offset),
                        r if r < 16 => UnwindRule::with_cfa(CfaKind::Register, *offset)
                            .and_then(|x| x.with_register(r)),
                        _ => None,
                    },
                    CfaRule::Expression(e) => {
                        if f.is_signal_trampoline() {
                            UnwindRule::with_cfa(CfaKind::Signal, 0)
                        } else {
                            cfa_expr(&frame, e)
                        }
                    }
                };
                rule = match row.register(Register(6)) {
                    None | Some(RegisterRule::SameValue) => rule,
                    Some(RegisterRule::Offset(o)) => {
                        rule.and_then(|r| r.with_frame_pointer(FramePointerKind::AtCfa, o))
                    }
                    Some(RegisterRule::Expression(e)) => {
                        let o = e.get(&frame).ok().and_then(|ex| {
                            let enc = gimli::Encoding {
                                address_size: 8,
                                format: gimli::Format::Dwarf32,
                                version: 4,
                            };
                            let mut ops = ex.operations(enc);
                            match (ops.next(), ops.next()) {
                                (
                                    Ok(Some(Operation::RegisterOffset {
                                        register: Register(6),
                                        offset,
                                        ..
                                    })),
                                    Ok(None),
                                ) => Some(offset),
                                _ => None,
                            }
                        });
                        match o {
                            Some(o) => rule.and_then(|r| {
                                r.with_frame_pointer(FramePointerKind::AtFramePointer, o)
                            }),
                            None => {
                                rule.and_then(|r| r.with_frame_pointer(FramePointerKind::Lost, 0))
                            }
                        }
                    }
                    _ => rule.and_then(|r| r.with_frame_pointer(FramePointerKind::Lost, 0)),
                };
                if rule.is_some_and(|r| r.cfa_kind() == CfaKind::Signal as u8) {
                    rule = UnwindRule::with_cfa(CfaKind::Signal, 0);
                } else {
                    match row.register(Register(16)) {
                        Some(RegisterRule::Offset(-8)) => {}
                        Some(RegisterRule::Undefined) => {
                            rule = Some(UnwindRule::of_kind(CfaKind::Outermost))
                        }
                        Some(RegisterRule::Offset(o)) => {
                            rule = rule.and_then(|r| r.with_return(ReturnKind::AtCfa, o))
                        }
                        _ => rule = None,
                    }
                }
                spans.push((row.start_address(), rule.unwrap_or(unknown)));
            }
            end = f.end_address();
        }
        spans.push((end, UnwindRule(0)));
        let mut out = Rows::default();
        let mut ids: HashMap<UnwindRule, u16> = HashMap::new();
        ids.insert(UnwindRule(0), 0);
        out.rules.push(UnwindRule(0));
        out.first_address = spans[0].0 & !0xffff;
        let mut cur = 0u16;
        for (a, r) in spans {
            while out.first_address + ((out.pages.len() as u64) << 16) <= a {
                out.pages.push(out.rows.len() as u32);
                if cur != 0 {
                    out.rows.push(Row { low: 0, rule: cur });
                }
            }
            let id = *ids.entry(r).or_insert_with(|| {
                out.rules.push(r);
                (out.rules.len() - 1) as u16
            });
            if id == cur {
                continue;
            }
            let low = a as u16;
            if let Some(l) = out.rows.last_mut()
                && out.rows.len() as u32 > *out.pages.last().unwrap_or(&0)
            {
                let l: &mut Row = out.rows.last_mut().unwrap();
                if l.low == low {
                    l.rule = id;
                    cur = id;
                    continue;
                }
            }
            out.rows.push(Row { low, rule: id });
            cur = id;
        }
        out.pages.push(out.rows.len() as u32);
        Ok(out)
    }
}
